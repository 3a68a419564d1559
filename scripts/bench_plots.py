"""Small SVG plots: bars with quartiles, lines with quartiles. The same figures give the same bytes."""
import math
from xml.sax.saxutils import escape

COLOURS = ["#1b6ca8", "#c8553d", "#6a994e", "#8d6b94", "#777777"]
FONT = 'font-family="sans-serif" font-size="12"'


def number(value):
    """Three digits, no exponent: 0.123, 12.3, 1230."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"


def _document(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>", ""])


def _text(x, y, text, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" {FONT}>{escape(text)}</text>'


def _line(x1, y1, x2, y2, colour="#333333", width=1, dashes=""):
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def ticks(most):
    """0 and up to five round steps to `most` and beyond."""
    most = most if most > 0 else 1
    step = 10 ** math.floor(math.log10(most))
    step *= next(f for f in (0.2, 0.5, 1, 2) if most / (step * f) <= 5)
    return [i * step for i in range(math.ceil(most / step - 1e-9) + 1)]


def bars(title, rows, reference=None):
    """rows: (label, Spread, text at the end). A horizontal bar to the median, a line from quartile to quartile."""
    left, width, step, top = 300, 860, 22, 40
    marks = ticks(max([s.q3 for _, s, _ in rows] + [reference or 0]))
    scale = (width - left - 90) / marks[-1]
    bottom = top + step * len(rows)
    parts = [_text(10, 20, title, weight="bold")]
    for mark in marks:
        x = left + mark * scale
        parts += [_line(x, top, x, bottom, "#dddddd"), _text(x, bottom + 16, f"{mark:.6g}", "middle")]
    for i, (label, s, end) in enumerate(rows):
        y = top + step * i
        middle = y + step / 2
        colour = COLOURS[1] if reference is not None and s.q1 < reference else COLOURS[0]
        parts += [_text(left - 8, middle + 4, label, "end"),
                  f'<rect x="{left}" y="{y + 4:.1f}" width="{s.median * scale:.1f}" height="{step - 8}" fill="{colour}"/>',
                  _line(left + s.q1 * scale, middle, left + s.q3 * scale, middle, "#111111", 2),
                  _text(left + s.q3 * scale + 8, middle + 4, end)]
    if reference is not None:
        x = left + reference * scale
        parts.append(_line(x, top, x, bottom, "#111111", 1, "4 3"))
    return _document(width, bottom + 28, parts)


def lines(title, x_label, y_label, series, doubling=False):
    """series: (name, [(x, Spread)], dashed). Both axes begin at 0; doubling: x from the smallest on, doublings equally wide."""
    left, top, right, bottom, width, height = 70, 40, 480, 300, 720, 350
    points = [(x, s) for _, line, _ in series for x, s in line]
    xs = sorted({x for x, _ in points})
    x_marks, y_marks = xs if doubling else ticks(xs[-1]), ticks(max(s.q3 for _, s in points))

    def at(x, y):
        share = math.log(x / xs[0]) / max(math.log(xs[-1] / xs[0]), 1e-9) if doubling else x / x_marks[-1]
        return left + share * (right - left), bottom - y / y_marks[-1] * (bottom - top)

    parts = [_text(10, 20, title, weight="bold"), _text((left + right) / 2, bottom + 36, x_label, "middle"), _text(10, top - 6, y_label)]
    for mark in x_marks:
        parts += [_line(*at(mark, 0), *at(mark, y_marks[-1]), "#dddddd"), _text(at(mark, 0)[0], bottom + 18, f"{mark:.6g}", "middle")]
    for mark in y_marks:
        y = at(x_marks[-1], mark)[1]
        parts += [_line(left, y, right, y, "#dddddd"), _text(left - 6, y + 4, f"{mark:.6g}", "end")]
    for i, (name, line, dashed) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(x, s.median) for x, s in sorted(line)))
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        for x, s in sorted(line):
            if not dashed:
                parts += [_line(*at(x, s.q1), *at(x, s.q3), colour, 2),
                          '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*at(x, s.median), colour)]
        y = top + 18 * (i + 1)
        parts += [_line(right + 20, y - 4, right + 44, y - 4, colour, 2, "5 4" if dashed else ""), _text(right + 50, y, name)]
    return _document(width, height, parts)
