#!/bin/sh
# Makes docs/report.png, the README's picture: the upper part of a report that is kept in docs/. Needs Chromium.
set -eu
page=$(realpath "${1:-docs/h200/sweep.html}")
profile=$(mktemp -d)
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --hide-scrollbars \
  --user-data-dir="$profile" --window-size=1280,1500 --screenshot=docs/report.png "file://$page" 2>/dev/null
rm -rf "$profile"
