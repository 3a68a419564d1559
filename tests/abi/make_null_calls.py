#!/usr/bin/env python3
"""Writes a C program that calls every public function with NULL and 0 and demands a negative status.

    make_null_calls.py HEADER OUT
"""
import pathlib
import re
import sys

# A NULL runtime is the default one; these answer without any argument at all.
MAY_SUCCEED = {"llmrt_version", "llmrt_version_string", "llmrt_status_name", "llmrt_last_error", "llmrt_runtime_workers", "llmrt_device_count",
               "llmrt_runtime_set_priority", "llmrt_runtime_set_workers", "llmrt_strlist_get", "llmrt_token_attr"}
DECLARATION = re.compile(r"^LLMRT_API (.*?)\bLLMRT_CALL (llmrt_[a-z0-9_]+)\((.*?)\);", re.M | re.S)

header = pathlib.Path(sys.argv[1]).read_text()
lines = ['#include "llmrt.h"', "#include <stdio.h>", "", "int main(void) {", "  int bad = 0;"]
for result, name, parameters in DECLARATION.findall(header):
    arguments = [] if parameters.strip() == "void" else ["0"] * len(parameters.split(","))
    call = f"{name}({', '.join(arguments)})"
    if name in MAY_SUCCEED or result.strip() == "void":
        lines.append(f"  {call};")
    else:
        lines.append(f'  if ({call} >= 0) bad = 1, printf("{name} took NULL and 0\\n");')
lines += ["  return bad;", "}", ""]
pathlib.Path(sys.argv[2]).write_text("\n".join(lines))
