#!/bin/sh
# unpack_vocabularies.sh FOLDER: puts the real vocabularies of LLMRT_TEST_DATA, unpacked, into FOLDER.
set -e
[ -n "$LLMRT_TEST_DATA" ] || exit 0
mkdir -p "$1"
for file in "$LLMRT_TEST_DATA"/golden/tokenizers/ggml-vocab-*.gguf; do
  [ -e "$1/${file##*/}" ] || cp "$file" "$1/"
done
for file in "$LLMRT_TEST_DATA"/golden/tokenizers/ggml-vocab-*.gguf.xz; do
  name=${file##*/}
  name=${name%.xz}
  [ -e "$1/$name" ] || { xz -dkc "$file" > "$1/$name.part" && mv "$1/$name.part" "$1/$name"; }
done
