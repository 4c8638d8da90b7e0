#!/usr/bin/env bash
# Writes the locked dependencies: hashes, no index addresses, one file a purpose.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
    --custom-compile-command "make lock" --quiet "$@"
}
compile --extra dev --group build --output-file requirements/demo.txt
compile --extra dev --extra mcp --extra fastembed --extra openai --group test --group build --constraint requirements/demo.txt --output-file requirements/test.txt
compile --extra dev --extra mcp --extra fastembed --extra openai --group test --group check --group build --constraint requirements/test.txt --output-file requirements/check.txt
