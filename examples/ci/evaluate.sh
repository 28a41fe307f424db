#!/usr/bin/env bash
# Evaluates a checkpoint, compares it with a stored run, and ends with the gate's exit status: what a
# CI job runs. examples/ci/natsl-bench.yml calls it from GitHub Actions; docs/gating.md explains it.
#
#   evaluate.sh --model DIR --tasks LIST --data DIR --baseline DIR --gate FILE --output DIR
#   evaluate.sh --store ...      the same options: keeps this run as the baseline instead
#
# In the output folder: run/ (the run itself), report.html (both runs side by side), comparison.md
# and junit.xml. Where GITHUB_STEP_SUMMARY names a file, the comparison is put there too.
# Exit status: 0 passed, 1 a regression, 3 something to compare is missing, 6 undecided; 2, 4 and 5
# as natsl-bench has them.
set -euo pipefail

usage() {
  sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

store=false model= tasks= data= baseline= gate= output=
while [ $# -gt 0 ]; do
  case $1 in
    --store) store=true; shift; continue ;;
    -h|--help) usage; exit 0 ;;
    --model|--tasks|--data|--baseline|--gate|--output)
      [ $# -ge 2 ] || { echo "evaluate.sh: $1 takes a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"; shift 2 ;;
    *) echo "evaluate.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
done
needed=(model tasks data baseline output)
$store || needed+=(gate)
for name in "${needed[@]}"; do
  [ -n "${!name}" ] || { echo "evaluate.sh: --$name is missing (see --help)" >&2; exit 2; }
done

# No baseline is no pass. Asked for before the run, which may take hours.
if ! $store && [ ! -e "$baseline/results.json" ]; then
  echo "evaluate.sh: $baseline holds no run; make one with --store and keep it" >&2
  exit 3
fi

# Goes on where a job that was stopped left off, if the folder was kept.
natsl-bench run --model "$model" --tasks "$tasks" --data "$data" --output "$output/run" --quiet

if $store; then
  # What comparing needs; the journal only serves to go on.
  mkdir -p "$baseline"
  rm -f "$baseline"/results.json "$baseline"/samples_*.jsonl
  cp "$output"/run/results.json "$output"/run/samples_*.jsonl "$baseline/"
  echo "stored in $baseline"
  exit 0
fi

natsl-bench report "$baseline" "$output/run" --html "$output/report.html"
status=0
natsl-bench compare "$baseline" "$output/run" --gate "$gate" \
  --junit "$output/junit.xml" --markdown "$output/comparison.md" || status=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$output/comparison.md" ]; then
  cat "$output/comparison.md" >> "$GITHUB_STEP_SUMMARY"
fi
exit $status
