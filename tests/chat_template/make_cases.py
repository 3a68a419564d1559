#!/usr/bin/env python3
"""Writes ../data/chat_template/cases.json: template programs with what jinja2 makes of them, in the environment that
transformers builds for chat templates (immutable sandbox, trim_blocks, lstrip_blocks, loop controls, generation tag, plain
json.dumps as tojson, raise_exception, strftime_now).

  make_cases.py            rewrite the committed corpus (hand-written programs, and a seeded part of the generated ones)
  make_cases.py --check    exit 1 if the committed corpus is not what this script writes
  make_cases.py --random N SEED   N generated programs as JSON lines on standard output, for longer runs

Needs jinja2 3.1 (python3-jinja2).
"""
import datetime
import json
import pathlib
import random
import sys

try:
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    print("jinja2 is missing")
    sys.exit(77)

NOW = datetime.datetime(2024, 7, 6, 3, 5, 9)
CONTEXT = {
    "messages": [
        {"role": "system", "content": "  You are terse.\n", "n": 2},
        {"role": "user", "content": "Hi <|im_end|> there", "n": 3},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello", "n": 1, "tool_calls": [{"function": {"name": "look", "arguments": {"b": 1, "a": [1, 2.5, None]}}}]},
        {"role": "user", "content": "Z\u00fcrich \u65e5\u672c \U0001f999", "n": 2},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "description": "Look \"up\" <x> & y\u2014z", "parameters": {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer", "default": 3}}, "required": ["q"]}}}],
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "s": "abc", "e": "", "u": "\u00e9\u65e5\U0001f999z", "words": "the quick-brown fox",
    "ws": " \t pad\u00a0\n", "lines": "l1\nl2\r\n\nl4\n", "html": "<a href='x'>&\"</a>", "digits": " 42 ",
    "i": 7, "neg": -3, "zero": 0, "big": 9007199254740993, "huge": 123456789012345678901234567890,
    "f": 2.5, "fz": 0.0, "fbig": 1e16, "ftiny": 1e-07, "third": 0.1, "fneg": -7.25, "whole": 100.0,
    "t": True, "no": False, "nil": None,
    "l": [3, 1, 2], "le": [], "lm": ["b", "A", "c", "B"], "nested": [[1, 2], [3], []], "mixed": [1, "a", None, True, 2.5],
    "d": {"b": 1, "a": 2, "C": 3}, "de": {}, "dd": {"items": [1, 2], "keys": "k", "get": "g", "x": {"y": {"z": "deep"}}},
    "recs": [{"k": "x", "v": 2, "on": True}, {"k": "Y", "v": 1, "on": False}, {"k": "x", "v": 3}],
}


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    @jinja2.pass_eval_context
    def _render(self, context, caller):
        return caller()


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: NOW.strftime(f)
    return env


ENV = environment()


def run(template):
    try:
        text = ENV.from_string(template).render(**json.loads(json.dumps(CONTEXT)))
        text.encode("utf-8")
        return {"t": template, "o": text}
    except RecursionError:
        return None
    except Exception as x:
        result = {"t": template, "e": type(x).__name__}
        if type(x) is jinja2.exceptions.TemplateError:
            result["m"] = str(x)
        return result


# One expression a line; each is printed by itself.
EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 // -2, 7.5 // 2, -7.5 // 2
7 % 3, -7 % 3, 7 % -3, 7.5 % 2, -7.5 % 2, 5 % -2.5
7 / 2, 6 / 2, -1 / 3
2 ** 10, 2 ** -1, 2.0 ** 3, -2 ** 2, 2 ** 3 ** 2
1 / 0
1 // 0
1 % 0
1.0 / 0
-i, +i, - -i, -f, +t, -t
-1|abs, (-1)|abs, -f|abs
-nil
-s
t + t, t * 3, no + 1
1 == 1.0, 1 == True, 0 == False, 'a' == 'a', [1] == [1.0], {'a': 1} == {'a': 1.0}, none == false, '' == none
1 != 2, 'a' != 'b', [1, 2] != [1, 2]
1 < 2 < 3, 1 < 2 > 1, 3 > 2 >= 2, 1 < 3 < 2
'a' < 'b', 'a' < 'B', 'Z' < 'a', [1, 2] < [1, 3], [1] < [1, 0], (1, 2) < (2,)
1 < 'a'
none < 1
[1] < (1,)
'a' in 'cat', 'x' not in 'cat', '' in '', 2 in l, 9 not in l, 'a' in d, 'z' in d, 1 in (1, 2), 'A' in lm
1 in 'abc'
1 in 5
'a' in nothing, nothing in l
not nothing, not l, not le, not '', not 0, not 0.0, not none, not d, not de
t and 1, no and 1, le or 'x', l or 'x', nothing or 'y', 1 and 2 and 3, 0 or '' or none
not t and no, not (t and no), t or no and no
'a' if t, 'b' if no, 'c' if no else 'd', ('e' if no else 'f' if no else 'g')
'a' ~ 1 ~ 2.5 ~ none ~ true ~ [1] ~ nothing
'a' + 'b' * 3, 3 * 'ab', 'ab' * 0, 'ab' * -1, [1] * 2, 2 * [1, 'x'], (1,) * 2
[1] + [2], (1,) + (2, 3), [] + []
[1] + (2,)
'a' + 1
1 + 'a'
'a' - 'b'
'a' * 'b'
none + 1
l + nothing
nothing + 1
nothing - 1
nothing * 2
nothing < 1
nothing == nothing, nothing == none, nothing != 1, nothing == ''
nothing
nothing.x
nothing['x']
nothing[0]
nothing()
nothing|length, nothing|list, nothing|string, nothing|upper, nothing|trim, nothing|join('x'), nothing|first is defined
nothing|int
nothing|float
nothing|tojson
nothing|default('d'), none|default('d'), ''|default('d'), ''|default('d', true), 0|default('d', boolean=true), nothing|d, none|d('x', true)
[nothing]
[nothing, 1, 'a']
s.nope, d.nope, l.nope, i.nope, none.nope
d.nope.deeper
none.nope.deeper
l[0], l[-1], l[99], l[-99], l[true]
s[0], s[-1], s[9], u[1], u[-1], u[2]
d['a'], d['zz'], d[1], l['x'], i[0], none[0]
l[1:], l[:1], l[-2:], l[:-1], l[::-1], l[::2], l[5:], l[-5:2], l[1:1], l[2:0:-1], l[none:none]
s[1:], s[:1], s[-2:], s[::-1], u[::-1], u[1:3], u[-2:], s[::2], s[5:], s[-9:9], s[2:0:-1]
(1, 2, 3)[1:], (1, 2, 3)[::-1]
range(10)[2:5], range(10)[::-2]|list, range(5)[1], range(5)[-1], range(5)[9]
l[::0]
l['a':]
d[1:2]
nil[1:]
nothing[1:]
[1, 2, 3,], (1,), (), [], {}, {'a': 1,}, (1, 2), [[]]
{'a': 1, 'b': [1, {'c': none}], 1: 2, none: 3, true: 4, 2.5: 'x'}
{'a': 1, 'a': 2}
{1: 'a', 1.0: 'b', true: 'c'}
{(1, 2): 'x'}[(1, 2)]
{[1]: 2}
{'k': 'v'}.k, {'k': 'v'}['k'], {'items': 1}.items is callable, {'items': 1}['items']
'a' 'b' "c"
'it''s', "q\"q", 'a\'b', 'n\nt\tr\\', 'x\x41\u00e9\U0001f600\101\q', "line\
continued"
"'", '"', '\'"', 'é', '\x00\x1f\x7f\x80\xa0\xad', '\u200b\u2028\ue000'
['\'', '"', '\'"', 'é\n\t\r\\', '\x00\x1f\x7f\x80\xa0\xad', '\u200b\u2028\ue000\U0001f600']
1_000, 0x1F, 0o17, 0b101, 1e3, 1.5e-3, 1_0.2_5, 0, 00
1.0, 100.0, 1e15, 1e16, 123456789.125, 0.1 + 0.2, 1e-4, 1e-5, 1.5e300, -0.0, 5e-324, 1e22, 2.5, 1/3
third, fbig, ftiny, whole, fneg, fz, big, huge, [huge]
true, false, none, True, False, None, t, no, nil
loop is defined, range is defined, namespace is callable, dict is callable, raise_exception is defined
s is string, i is string, e is string, u is string
i is number, f is number, t is number, s is number, none is number
i is integer, t is integer, f is integer, i is float, f is float
t is boolean, no is true, no is false, t is true, 1 is true, i is boolean
d is mapping, l is mapping, s is mapping, de is mapping
l is sequence, s is sequence, d is sequence, i is sequence, (1,) is sequence, range(3) is sequence, nothing is sequence
l is iterable, s is iterable, d is iterable, i is iterable, nothing is iterable, none is iterable, range(2) is iterable, d.items() is iterable
d.items() is sequence, d.items() is mapping, l|map('upper') is sequence
nothing is defined, s is defined, d.a is defined, d.zz is defined, d.zz is undefined, s.upper is defined, s.zzz is defined
none is none, nothing is none, nil is none, 0 is none, nil is not none
3 is odd, 4 is odd, 4 is even, 3 is even, 9 is divisibleby 3, 9 is divisibleby(2), -3 is odd
'a' is odd
1 is eq 1, 1 is equalto 2, 1 is ne 2, 2 is gt 1, 2 is ge 2, 1 is lt 2, 1 is le 1, 2 is greaterthan 1, 1 is lessthan 2, 1 is sameas 1
1 is in [1, 2], 'a' is in 'abc', 3 is not in l
none is sameas none, t is sameas true, 1 is sameas true
'abc' is lower, 'ABC' is upper, 'aBC' is lower, '' is lower, '1a' is lower
'upper' is filter, 'nope' is filter, 'odd' is test, 'nope' is test
s is escaped, callable is defined
i is not odd, not i is odd, (i is odd) and t
2 is divisibleby 0
s is nosuchtest
s|nosuchfilter
s|upper, s|lower, 'ß'|upper, 'ﬁx'|upper, 'ÀÉ'|lower, 'İ'|lower, 'ΑΣ'|lower, 'ΑΣΑ'|lower, none|upper, i|upper
'hello world'|title, words|title, "it's (a) {b} [c] <d>"|title, 'HELLO wORLD'|title, 'ǆ'|title, i|title
s|capitalize, 'hELLO wORLD'|capitalize, e|capitalize, 'éA'|capitalize
ws|trim, s|trim, 'xxaxx'|trim('x'), 'abcba'|trim('ab'), i|trim, none|trim, ws|trim|length
s|length, u|length, l|length, d|length, range(5)|length, (1,)|length, e|count, d.items()|length
i|length
none|length
l|map('string')|length
s|first, l|first, d|first, le|first is defined, e|first is defined, u|first, range(3, 9)|first
s|last, l|last, d|last, u|last, range(3, 9)|last, le|last is defined
i|first
(l|map('string'))|last
s|reverse, u|reverse, l|reverse|list, (1, 2)|reverse|list, d|reverse|list, range(3)|reverse|list
i|reverse
s|list, u|list, l|list, d|list, range(3)|list, d.items()|list, (1, 2)|list, e|list
i|list
s|replace('b', 'X'), 'aaaa'|replace('a', 'b', 2), 'abc'|replace('', '-'), 'abc'|replace('', '-', 2), i|replace(7, 8), none|replace('o', '0'), s|replace('zz', ''), e|replace('', 'x')
l|join, l|join(','), lm|join('-'), d|join(','), recs|join(',', attribute='k'), nested|join(';'), mixed|join('|'), s|join('.'), le|join('x'), l|join(1), l|join(d=', ')
i|join
recs|map(attribute='k')|list, recs|map(attribute='on')|list, recs|map(attribute='on', default='-')|list, recs|map(attribute='zz', default=0)|list
lm|map('upper')|list, lm|map('lower')|join, l|map('string')|list, ['a b']|map('replace', ' ', '_')|list, nested|map('length')|list, nested|map('first')|list|length, lm|map('upper')|map('lower')|list
[{'a': {'b': [10, 20]}}]|map(attribute='a.b.1')|list, ['xy', 'z']|map(attribute=0)|list, nested|map(attribute='0')|list
[{'a': 1}]|map(attribute='b.c')|list
none|map('upper')|list
l|map|list
l|map('nosuch')|list
[1, 0, '', 'a', none]|select|list, [1, 0, '', 'a', none]|reject|list, l|select('odd')|list, l|reject('gt', 1)|list, l|select('in', [1, 3])|list, lm|select('equalto', 'A')|list, none|select|list
recs|selectattr('on')|map(attribute='k')|list, recs|rejectattr('on')|map(attribute='k')|list, recs|selectattr('v', 'gt', 1)|list, recs|selectattr('k', 'equalto', 'x')|map(attribute='v')|list, recs|selectattr('on', 'defined')|list|length, recs|rejectattr('k', 'in', ['x'])|list|length, recs|selectattr('k', '==', 'Y')|first
recs|selectattr|list
l|select('nosuch')|list
l|sort, l|sort(reverse=true), lm|sort, lm|sort(case_sensitive=true), recs|sort(attribute='v')|map(attribute='v')|list, recs|sort(attribute='k,v')|map(attribute='v')|list, recs|sort(attribute='v', reverse=true)|map(attribute='v')|list, d|sort, s|sort
mixed|sort
recs|sort
['b', 'B', 'a', 'A']|sort(reverse=true), ['b', 'B', 'a', 'A']|sort
lm|unique|list, ['a', 'A', 'b']|unique|list, ['a', 'A', 'b']|unique(true)|list, [1, 1.0, true, 2]|unique|list, recs|unique(attribute='k')|map(attribute='v')|list
nested|unique|list
l|min, l|max, lm|min, lm|max, ['b', 'A']|max(case_sensitive=true), recs|max(attribute='v'), recs|min(attribute='v'), le|min is defined, s|max
mixed|max
l|sum, [1.5, 2]|sum, le|sum, recs|sum(attribute='v'), l|sum(start=10), [[1], [2]]|sum(start=[])
lm|sum
recs|groupby('k')|list, recs|groupby('k')|map(attribute='grouper')|list, recs|groupby('v')|map('first')|list
recs|groupby('k', case_sensitive=true)|map(attribute=0)|list, recs|groupby('on', default=false)|map(attribute='list')|map('length')|list
l|batch(2)|list, l|batch(2, 0)|list, [1, 2, 3, 4]|batch(2, 'x')|list, le|batch(2)|list
[1, 2, 3, 4, 5]|slice(2)|list, [1, 2, 3, 4, 5]|slice(3, 0)|list, l|slice(5)|list
d|items|list, de|items|list, d|dictsort, d|dictsort(true), d|dictsort(by='value'), d|dictsort(reverse=true), d|dictsort(false, 'value', true)
s|items|list
l|dictsort
d|dictsort(by='x')
'42'|int, digits|int, '4.9'|int, 'x'|int, 'x'|int(9), '0x1f'|int(base=16), '1f'|int(0, 16), '101'|int(0, 2), f|int, fneg|int, none|int, t|int, '1_000'|int, '-5'|int, '+5'|int, ''|int, '1e3'|int, 'inf'|int, [1]|int
'2.5'|float, 'x'|float, 'x'|float(1.5), i|float, none|float, '1e3'|float, ' 2 '|float, '.5'|float, '5.'|float, t|float
2.5|round, 3.5|round, 2.675|round(2), 42.55|round(1), 42.55|round(1, 'floor'), 42.51|round(1, 'ceil'), i|round, 1234.5|round(-2), i|round(2), 0.5|round, -2.5|round|int, 15|round(-1), 25|round(-1), 2.5|round(0, 'ceil')
2.5|round(1, 'x')
s|round
neg|abs, fneg|abs, t|abs
s|abs
s|string, i|string, f|string, none|string, l|string, d|string, t|string
html|e ~ html|escape ~ i|e ~ html|safe ~ '<'|forceescape
'%s=%d'|format('a', 3), '%(x)s'|format(x=1), '%5.2f|%-5s|%05d|%+d|%x|%X|%o|%e|%g|%c|%r|%%'|format(2.345, 'ab', 42, 7, 255, 255, 8, 12345.678, 0.0001, 'z', 'q')
'%s' % 'a', '%s %s' % (1, 'b'), '%(k)s' % {'k': 'v'}, '%s' % [1], '%d' % 3.9, '%5s|%-5s|' % ('a', 'b'), '%.2s' % 'abc', '%%' % (), '%s' % none, '%3d|%-3d|%03d' % (5, 5, 5), '%.3d' % 5, '%#x' % 255, '% d' % 5, '%i' % true, '%s' % (('a', 1),), '%.0f' % 2.5, '%g %g %g' % (1e20, 100000, 0.00001), '%*d' % (5, 3), '%.3g' % 3.14159
'%d' % 'a'
'%s %s' % 'a'
'%s' % ('a', 'b')
'abc' % 1
'%(zz)s' % d
'%y' % 1
'{} {}'.format(1, 'a'), '{1}{0}'.format('a', 'b'), '{x}'.format(x=3), '{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c'), '{:05d} {:+} {:,} {:.2f} {:e} {:%} {:x} {:b} {:o} {:#x}'.format(42, 3, 1234567, 2.345, 12345.678, 0.25, 255, 5, 8, 255), '{{}}'.format(), '{0[0]} {0[1]} {d[a]}'.format(l, d=d), '{!r} {!s}'.format('a', 'b'), '{:*^7}'.format('x'), '{:{}}|'.format('a', 4), '{:.2}'.format('abc'), '{:>8.3f}|'.format(3.14159), '{:g}'.format(2.5), '{:_}'.format(1234567), '{:5}|{:5}|'.format(1, 'a'), '{}'.format(2.0), '{:.3}'.format(2.0), '{:n}'.format(5) if no else ''
'{} {}'.format(1)
'{x}'.format(1)
'{0} {}'.format(1, 2)
'{'.format()
'{:d}'.format('a')
'{:s}'.format(1)
s|indent, lines|indent, lines|indent(2), lines|indent(2, true), lines|indent(2, first=true, blank=true), lines|indent('> '), 'a\n\nb'|indent(1), e|indent(2, true)
i|indent
'a long text to cut somewhere'|truncate(10), 'a long text'|truncate(7, true), 'short'|truncate(10), 'abcdefghij'|truncate(8, true, '!', 0), 'a b c d e f'|truncate(5, end='-', leeway=0)
words|wordcount, e|wordcount, 'a-b c_d 1'|wordcount
'x'|center(5), 'xy'|center(5), 'xyz'|center(2)
d|attr('a') is defined, s|attr('upper') is defined, s|attr('zz') is defined
s|tojson, i|tojson, f|tojson, none|tojson, t|tojson, l|tojson, d|tojson, tools|tojson, messages|tojson, html|tojson, u|tojson, huge|tojson, fbig|tojson, ftiny|tojson, whole|tojson
u|tojson(ensure_ascii=true), '\x7f\u2028'|tojson(true), d|tojson(sort_keys=true), d|tojson(separators=(',', ':')), d|tojson(indent=2), nested|tojson(indent=1), tools|tojson(indent=4), de|tojson(indent=2), le|tojson(indent=2), d|tojson(indent=0), d|tojson(indent='\t'), {'x': [], 'y': {}}|tojson(indent=2), (1, 2)|tojson, {1: 2, none: 3, true: 4, 2.5: 5}|tojson, '\n\t\r\b\f\\"/\x01'|tojson, d|tojson(indent=2, separators=(',', ':'))
{(1, 2): 3}|tojson
range|tojson
[nothing]|tojson
d.items()|tojson
l|map('string')|tojson
s.upper(), 'ABC'.lower(), 'hello world'.title(), "it's".title(), 'hello'.capitalize(), 'aBc'.swapcase(), 'ß'.upper(), 'ﬁ'.title(), 'ΣΑΣ'.lower()
' a '.strip() ~ '|', ' a '.lstrip() ~ '|', ' a '.rstrip() ~ '|', 'xxaxx'.strip('x'), 'xyaxy'.lstrip('yx'), 'abc'.rstrip('bc'), ws.strip(), 'éaé'.strip('é'), ' a '.strip(none)
'a,b,,c'.split(','), 'a  b c '.split(), 'a-b-c'.split('-', 1), 'a-b-c'.rsplit('-', 1), 'a b c'.split(none, 1), ' a  b  c '.split(none, 1), ' a  b  c '.rsplit(none, 1), 'abc'.split('x'), ''.split(), ''.split(','), 'a::b'.split('::'), 'a b c'.split(maxsplit=1), 'x'.split(sep=','), 'a,b'.rsplit(','), ' a b '.rsplit(), ws.split(), 'abc'.split('b', 0)
'abc'.split('')
lines.splitlines(), lines.splitlines(true), ''.splitlines(), 'a\x0bb\x85c\u2028d'.splitlines(), 'a\r\nb\rc'.splitlines(), 'a\n'.splitlines()
'a=b=c'.partition('='), 'a=b=c'.rpartition('='), 'abc'.partition('='), 'abc'.rpartition('=')
'abcabc'.find('c'), 'abcabc'.find('c', 3), 'abcabc'.rfind('c'), 'abc'.find('z'), 'abc'.index('b'), 'abcabc'.rindex('a'), u.find('z'), 'abc'.find('', 1), 'abc'.find('', 4), 'abcabc'.find('a', -3), 'abcabc'.find('c', 0, 2), 'abc'.find('c', none, none)
'abc'.index('z')
'aXbX'.count('X'), 'aaaa'.count('aa'), 'abc'.count(''), u.count(''), 'aaa'.count('a', 1), 'aaa'.count('a', 1, 2)
'abc'.startswith('ab'), 'abc'.startswith(('x', 'a')), 'abc'.endswith('bc'), 'abc'.endswith(('x', 'y')), 'abc'.startswith('b', 1), 'abc'.startswith(''), 'abc'.endswith('b', 0, 2), ''.startswith(''), 'abc'.startswith('', 4)
'abc'.startswith(1)
'abc'.startswith(['a'])
'abcab'.replace('ab', 'X'), 'abcab'.replace('ab', 'X', 1), 'abc'.replace('', '.'), 'aaa'.replace('a', '', 2), 'abc'.replace('b', 'bb')
'abc'.replace('a')
'abc'.replace(1, 2)
','.join(['a', 'b']), ''.join('abc'), '-'.join(d), ','.join([]), ', '.join(('x', 'y')), '+'.join(lm|map('upper'))
','.join([1])
'5'.zfill(3), '-5'.zfill(4), 'abc'.zfill(2), 'x'.ljust(3) ~ '|', 'x'.rjust(3), 'x'.center(4) ~ '|', 'ab'.center(5, '*'), 'x'.ljust(3, '.')
'abc'.removeprefix('a'), 'abc'.removesuffix('bc'), 'abc'.removeprefix('x')
'abc'.isalpha(), 'ab1'.isalpha(), 'ab1'.isalnum(), '12'.isdigit(), '1.2'.isdigit(), ''.isdigit(), '²'.isdigit(), '²'.isdecimal(), '½'.isnumeric(), ' '.isspace(), ''.isspace(), 'Abc Def'.istitle(), 'ABC'.isupper(), 'abc'.islower(), 'a1'.islower(), '1'.islower(), 'é'.isascii(), ''.isascii(), 'a_1'.isidentifier(), '1a'.isidentifier(), 'a\n'.isprintable(), 'é'.isalpha(), '日本'.isalpha()
s.nosuch()
s.upper(1)
d.items()|list, d.keys()|list, d.values()|list, d.get('a'), d.get('zz'), d.get('zz', 'x'), d.items(), d.keys(), d.values(), 'a' in d.keys(), ('a', 2) in d.items(), d.copy()
dd.items()|list|length, dd['items'], dd.keys()|list, dd.get('get'), dd.x.y.z, dd['x']['y'].z, dd.x.get('y').get('z'), dd['keys']
d.update({'z': 1})
d.clear()
d.setdefault('a', 1)
d.get()
d.get([1])
l.index(2), l.count(1), l.copy(), (1, 2, 1).count(1), (1, 2).index(2)
l.index(9)
l.sort()
l.insert(0, 1)
dict(x=1, y='z'), dict(), dict(d, q=1), dict([('a', 1), ('b', 2)]), dict(a=1)['a'], dict(d)
dict(1)
range(3)|list, range(1, 4)|list, range(5, 0, -2)|list, range(0)|list, range(2, 2)|length, range(3), range(1, 9, 3), range(-3)|list, range(100000)|length
range(100001)
range(1, 2, 0)
range('a')
range(2.5)
namespace(a=1).a, namespace().zz is defined, namespace({'q': 2}).q, namespace(a=1)['a']
raise_exception('boom')
raise_exception('boom ' ~ i)
strftime_now('%Y-%m-%d'), strftime_now('%d %b %Y'), strftime_now('%B %d, %Y'), strftime_now('%A %a %H:%M:%S %I %p %j %y %m %e %U %W %w %u %V %G %%'), strftime_now('%-d %-m %-H %-I'), strftime_now('%F %T %D %R'), strftime_now('plain'), strftime_now('%c'), strftime_now('%x %X')
messages[0].role, messages[-1]['content'], messages[0]['content']|trim, messages[2].tool_calls[0].function.arguments.a[1], messages[1:]|map(attribute='role')|join(','), messages|length, messages|map(attribute='n')|sum, messages|selectattr('role', 'equalto', 'user')|list|length, messages|selectattr('tool_calls', 'defined')|map(attribute='n')|list, (messages|last).content.split(' ')|first, messages[2].content.split('</think>')[-1].lstrip('\n'), 'tool_calls' in messages[2], messages[0].get('tool_calls'), messages|rejectattr('role', 'eq', 'system')|map(attribute='role')|unique|list
l.0, (1, 2).1, nested.0.1, messages.0.role
s|upper|lower|title, (s|upper) ~ 'x', s|upper ~ 'x', s ~ s|upper, (s ~ s)|upper
1 if t else 2 + 3, (1 if t else 2) + 3, 1 + 2 if no else 4
not t == no, not (t == no), (not t) == no
[1, 2, 3] | length > 2, l|length == 3 and s
'a' < 'b' == true, 1 == 1 == 1, 1 in [1] == true
s.split('b')|join('-')|upper, s.split('b')[0].upper() ~ '!'
(s)(1)
s(1)
1(2)
l|first()|string, l|join(', ')()
caller is defined, varargs is defined
[x for x in l]
lambda x: 1
a = 1
1 +
+
(1, 2
{'a' 1}
s.
s..upper
|upper
s|
s is
l[
l[1
1 2
'unclosed
@
a $ b
`x`
{% if %}
""".strip("\n").split("\n")

STATEMENTS = [
    "{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
    "{% set (x, y) = (1, 2) %}{{ x }}{{ y }}",
    "{% set x, = [5] %}{{ x }}",
    "{% set x, y = [1] %}",
    "{% set x, y = [1, 2, 3] %}",
    "{% set x, y = 5 %}",
    "{% set x, (y, z) = 1, (2, 3) %}{{ x }}{{ y }}{{ z }}",
    "{% set x = 1, 2 %}{{ x }}",
    "{% set x %}a{{ i }}b{% endset %}[{{ x }}]",
    "{% set x | upper %}a{{ s }}b{% endset %}[{{ x }}]",
    "{% set x | replace('a', 'b') | trim %} a{{ s }} {% endset %}[{{ x }}]",
    "{% set x %}{% set y = 3 %}{{ y }}{% endset %}{{ x }}{{ y is defined }}",
    "{% set ns = namespace(a=1, b=[]) %}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns.b }}",
    "{% set ns = namespace() %}{% set ns.x = 'q' %}{{ ns.x }}{{ ns.y is defined }}{{ ns.y }}",
    "{% set d.x = 1 %}",
    "{% set nothing.x = 1 %}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m.n %}{% endfor %}{{ ns.n }}",
    "{% set n = 0 %}{% for m in messages %}{% set n = n + m.n %}{{ n }},{% endfor %}{{ n }}",
    "{% for m in messages %}{% set last = m.role %}{% endfor %}{{ last is defined }}",
    "{% for m in messages %}{{ last }}{% set last = m.role %}{% endfor %}",
    "{% set last = 'x' %}{% for m in messages %}{{ last }}{% set last = m.role %}{{ last }}{% endfor %}{{ last }}",
    "{% if t %}{% set v = 1 %}{% else %}{% set v = 2 %}{% endif %}{{ v }}",
    "{% for i in l %}{% if i == 1 %}{% set s = 'in' %}{% endif %}{{ s }}{% endfor %}{{ s }}",
    "{% for x in l %}{{ x }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is undefined }}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in l %}{{ loop.depth }}{{ loop.depth0 }}{{ loop.nope is defined }}{% endfor %}",
    "{% for x in l|map('string') %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ loop.last }};{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in le %}{{ x }}{% else %}empty{{ i }}{% endfor %}",
    "{% for x in nothing %}{{ x }}{% else %}empty{% endfor %}",
    "{% for x in none %}{{ x }}{% endfor %}",
    "{% for x in 5 %}{{ x }}{% endfor %}",
    "{% for c in u %}[{{ c }}]{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for k, v in d|items %}{{ k }}={{ v }}{{ loop.length }}{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [[1, 2], [3]] %}{{ a }}{% endfor %}",
    "{% for a, b in ['xy'] %}{{ a }}-{{ b }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in range(3) %}{% for y in range(x) %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{{ loop.index }}|{% endfor %}",
    "{% for x in range(3) %}{% set outer = loop %}{% for y in range(2) %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}else{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}else{% endfor %}",
    "{% for x in range(3) %}{% for y in range(3) %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in l if x != loop %}{% endfor %}",
    "{% set ns = namespace(stop=false) %}{% for x in range(5) if not ns.stop %}{{ x }}{% if x == 2 %}{% set ns.stop = true %}{% endif %}{% endfor %}",
    "{% set g = l|map('string') %}{% for x in g %}{{ x }}{% endfor %}|{% for x in g %}{{ x }}{% endfor %}",
    "{% for x in (l|map('string')) %}{% if loop.first %}{{ loop.length }}{% endif %}{{ x }}{% endfor %}",
    "{% if t %}a{% endif %}{% if no %}b{% elif i == 7 %}c{% else %}d{% endif %}{% if no %}e{% elif no %}f{% else %}g{% endif %}",
    "{% if nothing %}a{% else %}b{% endif %}{% if l and d %}c{% endif %}",
    "{% if i is odd and s == 'abc' or no %}y{% endif %}",
    "{% if 'a' in s, 1 %}tuple{% endif %}",
    "{% macro f(a, b=2, c=a) %}({{ a }},{{ b }},{{ c }}){% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(1, c=9) }}{{ f(a=5) }}",
    "{% macro f(a) %}{{ a is defined }}[{{ a }}]{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}",
    "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}",
    "{% macro f() %}{{ varargs|length }}{% endmacro %}{{ f(*l) }}{{ f(1, *l) }}",
    "{% macro f(a=0, b=0) %}{{ a }}-{{ b }}{% endmacro %}{{ f(**{'a': 1, 'b': 2}) }}{{ f(1, **{'b': 3}) }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}{% set x = 2 %}{{ f() }}",
    "{% macro f() %}{{ x is defined }}{% endmacro %}{% for x in l %}{{ f() }}{% endfor %}",
    "{% macro f() %}{% set x = 5 %}{{ x }}{% endmacro %}{{ f() }}{{ x is defined }}",
    "{% set x = 1 %}{% macro f(x) %}{{ x }}{% endmacro %}{{ f(7) }}{{ x }}",
    "{% for y in l %}{% macro f() %}{{ y }}{% endmacro %}{{ f() }}{% endfor %}",
    "{% macro f(x) %}{{ x|upper }}{% endmacro %}{{ f('a') ~ f('b') }}{{ f(s)|length }}{{ f(s) == 'ABC' }}",
    "{% macro f(x) %}  {{ x }}  {% endmacro %}[{{ f(1)|trim }}]",
    "{{ f() }}{% macro f() %}x{% endmacro %}",
    "{% macro f(a, b=1, c) %}{% endmacro %}",
    "{% macro outer() %}{% macro inner() %}in{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}",
    "{% macro f() %}{{ f.name }}{% endmacro %}",
    "{% filter upper %}a{{ s }}{% endfilter %}",
    "{% filter upper|replace('A', 'x') %}a{{ s }}{% endfilter %}",
    "{% filter trim %}  a\n{% endfilter %}|",
    "{% filter indent(2) %}a\nb{% endfilter %}",
    "{% generation %}a{{ s }}{% endgeneration %}",
    "{% for m in messages %}{% generation %}{{ m.role }}{{ loop.index }}{% set q = 1 %}{% endgeneration %}{{ q is defined }}{% endfor %}",
    "{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}",
    "{% with %}{% set x = 3 %}{{ x }}{% endwith %}{{ x is defined }}",
    "{% raw %}{{ x }}{% if %}{% endraw %}|",
    "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "{# c #}a{# {{ x }} #}b{#- c -#} d",
    "a {#- x -#} b",
    "a\n  {# x #}\nb",
    "a\n  {#+ x +#}\nb",
    "{# unclosed",
    "{% raw %}unclosed",
    "{% if t %}unclosed",
    "{% for x in l %}",
    "{{ s",
    "{% set x = ",
    "{% endif %}",
    "{% else %}",
    "{% if t %}{% endfor %}",
    "{% nosuch %}",
    "{%%}",
    "{{}}",
    "{% break %}",
    "{% for x in l %}{% endfor x %}",
    "{% if t %}{{ s|nosuch }}{% endif %}",
    "{% if no %}{{ s|nosuch }}{% endif %}ok",
    "{{ s|nosuch if no else 'ok' }}",
    "{{ 'ok' if t else s is nosuch }}",
    "{% if no %}{% for x in l %}{{ x|nosuch }}{% endfor %}{% endif %}ok",
    "{% for x in le %}{{ x|nosuch }}{% endfor %}ok",
    "{% if t %}\n  x\n{% endif %}\ny",
    "  {% if t %}\nx\n  {% endif %}\ny\n",
    "  {%+ if t %}\nx\n  {%+ endif %}\ny\n",
    "{% if t +%}\nx{% endif +%}\ny",
    "a {{ s }} \n b\n\n{{ s }}\n\nc\n\n",
    "a \n\n {%- if t -%} \n\n b {%- endif %} \n c",
    "{{- s -}} x {{- s }}",
    "x {{- s -}} y",
    "{{+ s }}",
    "{{ -3 }}{{-3}}{{ - 3 }}",
    "\t{% if t %}a{% endif %}\n\tb",
    "x\t{% if t %}a{% endif %}",
    "a\r\n{% if t %}\r\nx\r\n{% endif %}\r\nb\rc",
    "a\n",
    "a\n\n",
    "\n",
    "",
    "{{ '\n' }}",
    "{ { s } } {% raw %}{%{% endraw %} }} %} #}",
    "{{ {'a': {'b': 1}}['a']['b'] }}{{ {'a': {'b': 1}} }}",
    "{{ '}}' }}{{ '{%' }}{{ \"%}\" }}",
    "{{ s\n|\nupper }}",
    "{%\nif t\n%}x{%\nendif\n%}",
    "{{ raise_exception('Conversation roles must alternate') }}",
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ 'x' }}{% endif %}{{ m.content | trim }}{{ eos_token if not loop.last }}{% endfor %}",
    "{%- for t in tools %}{{- t | tojson(indent=4) }}{{- '\\n\\n' }}{%- endfor %}",
    "{% set ids = messages|map(attribute='role')|list %}{{ ids }}{{ ids[::-1]|join(' ') }}",
    "{% set content = messages[2].content %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}{{ content }}",
    "{%- macro render(p, d) -%}{%- if p is mapping -%}{%- for k, v in p|items -%}{{ '  ' * d }}{{ k }}:{{ render(v, d + 1) }}{%- endfor -%}{%- elif p is iterable and p is not string -%}[{%- for x in p -%}{{ render(x, d) }}{%- if not loop.last %}, {% endif -%}{%- endfor -%}]{%- else -%}{{ p }};{%- endif -%}{%- endmacro -%}{{ render(tools[0], 0) }}",
    "{% set l2 = [] %}{% for x in l %}{% set l2 = l2 + [x * 2] %}{{ l2 }}{% endfor %}{{ l2 }}",
    "{% set x = {'a': 1} %}{% set y = dict(x, b=2) %}{{ x }}{{ y }}",
    "{% set x = none %}{{ x is none }}{{ x }}{% set x = nothing %}{{ x is defined }}",
    "{{ (messages|selectattr('role', 'equalto', 'tool')|list)|length or 'none' }}",
    "{{ loop }}",
    "{% set loop = 3 %}{{ loop }}",
    "{% set range = 3 %}{{ range }}",
    "{% include 'x' %}",
    "{% extends 'x' %}",
    "{% import 'x' as y %}",
    "{{ ().__class__ }}",
    "{{ s.__class__.__mro__ }}",
    "{{ namespace.__init__ }}",
    "{{ s['upper']() }}{{ d['get']('a') }}{{ l['index'](1) }}",
    "{{ [1, 2, 3][0] }}{{ 'abc'[1] }}{{ {'x': 1}['x'] }}{{ (1, 2)[1] }}",
    "{{ l.append(1) }}" if False else "{{ l }}",
    "{% set a, b = b, a %}",
    "{% set true = 1 %}",
    "{% set 1 = 1 %}",
    "{% for true in l %}{% endfor %}",
    "{{ strftime_now('%d %B %Y') if strftime_now is defined else 'x' }}",
    "{% set z %}{% for x in l %}{{ x }}{% if x == 1 %}{% break %}{% endif %}{% endfor %}{% endset %}{{ z }}",
]


# --- generated programs

TEXT_METHODS = ["upper()", "split()", "strip()", "title()", "split(',')", "split('b', 1)", "startswith('a')", "find('b')", "replace('a', 'z')", "lstrip()",
                "rstrip('c')", "splitlines()", "count('a')", "endswith(('c', 'x'))", "isdigit()", "capitalize()", "rsplit(none, 1)", "partition(' ')"]
DICT_METHODS = ["items()|list", "keys()|list", "values()|list", "get('a')", "get('q', 5)", "get('k')"]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *options):
        return self.r.choice(options)

    def atom(self):
        return self.pick("s", "e", "u", "words", "ws", "lines", "i", "neg", "zero", "f", "fneg", "t", "no", "nil", "l", "le", "lm", "nested", "mixed",
                         "d", "de", "dd", "recs", "messages", "tools", "nothing", "x", "'a'", "'b c'", "''", "1", "2", "-1", "0", "2.5", "true",
                         "none", "[]", "{}", "'abc'", "[1, 2]", "['a', 'b']", "{'a': 1}", "(1, 'b')", "messages[0]", "messages[1].content", "recs[0].k",
                         "d.a", "range(3)", "loop.index" if self.in_loop else "i", "y" if self.in_loop else "s")

    in_loop = False

    def expr(self, n=3):
        if n <= 0:
            return self.atom()
        e = lambda: self.expr(n - 1 - self.r.randrange(2))
        k = self.r.randrange(18)
        if k < 3:
            return self.atom()
        if k < 5:
            return f"{e()} {self.pick('+', '-', '*', '/', '//', '%', '~', '~', '+')} {e()}"
        if k < 7:
            return f"({e()} {self.pick('==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'and', 'or')} {e()})"
        if k == 7:
            return f"({e()} if {e()} else {e()})"
        if k == 8:
            return f"(not {e()})"
        if k == 9:  # not of a constant: jinja2 folds those by other rules
            return f"{self.pick('s', 'u', 'l', 'lm', 'nested', 'mixed', 'messages', 'recs', 'd', 'i', 'nil', 'nothing', 'x')}[{self.pick('0', '-1', '1:', ':-1', '::-1', ':2', '1:3', repr('a'), '-2:', '::2')}]"
        if k == 10:
            return f"{self.atom()}.{self.pick('a', 'k', 'role', 'content', 'zz', 'x', 'n')}"
        if k == 11:
            return f"({e()} is {self.pick('', 'not ')}{self.pick('defined', 'undefined', 'none', 'string', 'number', 'mapping', 'iterable', 'sequence', 'integer', 'boolean', 'true', 'odd', 'even', 'float', 'lower')})"
        if k < 15:
            f = self.pick("upper", "lower", "trim", "length", "first", "last", "join", "list", "string", "tojson", "int", "float", "default('z')", "join(', ')",
                          "reverse|list", "sort", "unique|list", "title", "capitalize", "abs", "sum", "max", "min", "replace('a', 'q')", "items|list", "dictsort",
                          "map('string')|list", "map(attribute='k')|list", "select|list", "selectattr('k')|list", "map('upper')|join", "round", "indent",
                          "default('z', true)", "rejectattr('v', 'gt', 1)|list", "batch(2)|list", "map('length')|list", "tojson(indent=2)", "count", "wordcount", "d('q')")
            return f"({e()})|{f}"
        if k == 15:
            text = self.pick("s", "words", "ws", "lines", "u", "'a,b'", "messages[1].content")
            return text + "." + self.pick(*TEXT_METHODS)
        if k == 16:
            return self.pick("d", "dd", "de", "recs[0]") + "." + self.pick(*DICT_METHODS)
        return f"[{e()}, {e()}]" if self.r.random() < 0.6 else "{'k': " + e() + ", 'q': " + e() + "}"

    def block(self, n):
        return "".join(self.statement(n) for _ in range(self.r.randrange(1, 4)))

    def statement(self, n):
        nl = self.pick("", "", "\n", " ", "\n  ")
        dash = lambda: self.pick("", "", "", "-")
        k = self.r.randrange(11)
        if k < 4 or n <= 0:
            return f"{nl}{{{{{dash()} {self.expr()} {dash()}}}}}{nl}"
        if k == 4:
            return self.pick("text", " a b ", "\n", "<|x|>", "\n\n  ")
        if k == 5:
            other = f"{{%{dash()} else %}}{self.block(n - 1)}" if self.r.random() < 0.5 else ""
            return f"{nl}{{%{dash()} if {self.expr()} {dash()}%}}{self.block(n - 1)}{other}{{%{dash()} endif {dash()}%}}{nl}"
        if k < 8:
            inside, self.in_loop = self.in_loop, True
            condition = f" if {self.expr(2)}" if self.r.random() < 0.2 else ""
            body = self.block(n - 1)
            self.in_loop = inside
            source = self.pick("l", "lm", "messages", "d", "recs", "s", "range(4)", "le", "nested", "mixed", "nothing", "d|items", "recs|map(attribute='k')")
            return f"{nl}{{%{dash()} for y in {source}{condition} {dash()}%}}{body}{{%{dash()} endfor {dash()}%}}{nl}"
        if k == 8:
            return f"{{%{dash()} set x = {self.expr()} {dash()}%}}{nl}"
        if k == 9:
            return f"{{%{dash()} set x %}}{self.block(n - 1)}{{%{dash()} endset %}}{nl}{{{{ x }}}}"
        return f"{{% macro m(y, x=1) %}}{self.block(n - 1)}{{% endmacro %}}{{{{ m({self.expr(1)}) }}}}"

    def program(self):
        return self.block(3)


def printable(case):
    """Addresses of objects are not comparable, and neither is what exceeds our integers."""
    return case and not (" at 0x" in case.get("o", "") or "<built-in" in case.get("o", "") or case.get("e") == "OverflowError" and "range" not in case["t"])


def generated(n, seed):
    g = Generator(seed)
    out = []
    while len(out) < n:
        case = run(g.program())
        if printable(case) and len(case["t"]) < 600 and len(case.get("o", "")) < 3000:
            out.append(case)
    return out


def corpus():
    cases = []
    for line in EXPRESSIONS:
        whole = "{{ " + line.replace("\\\n", "\\\n") + " }}"
        cases.append(run(whole))
    cases += [run(t) for t in STATEMENTS]
    cases += generated(400, 20240706)
    for c in cases:
        assert printable(c), c
    return json.dumps({"now": NOW.isoformat(), "context": CONTEXT, "cases": cases}, ensure_ascii=False, indent=0) + "\n"


def main():
    path = pathlib.Path(__file__).resolve().parent.parent / "data" / "chat_template" / "cases.json"
    if sys.argv[1:2] == ["--random"]:
        for case in generated(int(sys.argv[2]), int(sys.argv[3])):
            print(json.dumps(case))
        return 0
    text = corpus()
    if sys.argv[1:] == ["--check"]:
        return 0 if path.read_text(encoding="utf-8") == text else 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
