#!/bin/sh
# Measures what docs/ cites, on a GPU. Each part writes its small tables (.txt) to docs/ and everything else to
# outputs/evidence/, which is not tracked.
#
#   sh docs/evidence.sh PART...      # tutorials sweep experiments steps agreement contenders limits measuring comparing trust checked gpus foreign profile energy history lines example
#   sh docs/evidence.sh all
#
# Beside what a sweep needs: nvcc; ncu for steps, profile and measuring; torch, cupy and triton for contenders and limits; cuda-core,
# cuda-bench and kernel_tuner for measuring; the clones of docs/other-kernels.md in $CLONES for foreign; Chromium for example.
set -eu
python=${PYTHON:-python3}
tables=docs/h200
work=outputs/evidence
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # the checkout's own runner
parts="tutorials sweep experiments steps agreement contenders limits measuring comparing trust checked gpus foreign profile energy history lines example"

run() { # NAME ARGUMENT...: sweep into outputs/evidence/NAME, and keep what the terminal said
  name=$1
  shift
  rm -rf "$work/$name"
  mkdir -p "$(dirname "$work/$name")" "$(dirname "$tables/$name")"
  COLUMNS=160 "$python" -m runner "$@" device=cuda "hydra.sweep.dir=$work/$name" >"$work/said.txt"
  grep -v '^Report:' "$work/said.txt" >"$tables/$name.txt"
}

tutorials() { run tutorials experiment=tutorial_reductions; } # the tutorials' table

sweep() { # the tutorials' reductions over sizes and blocks
  reductions=reduceGmem,reduceGmemUnroll,reduceShfl,reduceShflUnroll,reduceSmem,reduceSmemDyn,reduceSmemUnroll,reduceSmemUnrollDyn,reduceThreadFence
  run sweep kernel=$reductions block=64,128,256,512,1024 size=16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi,256Mi unroll=8
}

experiments() {
  for file in conf/experiment/*.yaml; do
    experiment=$(basename "$file" .yaml)
    case $experiment in seed_reductions | tutorial_reductions | ladder_* | *_contenders) continue ;; esac # `tutorials`, `steps` and `contenders`
    run "experiments/$experiment" "experiment=$experiment"
  done
}

steps() { # what docs/optimizing.md tells, and the counters behind its reasons
  quick="timing=quick timing.rounds=3 profile=ncu profile.metrics=[default,smsp__inst_executed.sum]"
  # shellcheck disable=SC2086
  {
    run steps/reduction-int32 experiment=ladder_reduction dtype=int32 'size=2**20,2**24,2**28' $quick
    run steps/reduction-float32 experiment=ladder_reduction dtype=float32 'size=2**20,2**24,2**28' $quick
    run steps/transpose experiment=ladder_transpose size=4096x4096,4097x4095 $quick
    run steps/stencil experiment=ladder_stencil size=2**24 $quick
  }
  for name in reduction-int32 reduction-float32 transpose stencil; do
    echo "> $name"
    "$python" benchmarks/profiled.py --page "$work/steps/$name"
  done >"$tables/steps/counters.txt"
}

trust() { # whether a cache hint gains anything through the flush; planted defects
  run cache_hints --config-dir benchmarks/cache_hints kernel=hintedLoads hint=0,1 size=256Ki,1Mi,4Mi,16Mi timing=thorough
  "$python" benchmarks/planted_defects.py --device cuda --jobs 16 --out "$tables/trust_defects.txt"
}

gpus() { # one GPU against two; needs two
  "$python" benchmarks/gpus.py --rounds 6 >"$tables/gpus.txt"
}

checked() { # the checked CPU device beside compute-sanitizer, and its counts of each line beside Nsight Compute's
  "$python" benchmarks/checked.py gpu --work "$work/checked" --out "$tables/checked.txt"
}

foreign() { # the kernels of other people, whose clones lie in the folder $CLONES
  clones=
  for name in llm.c SGEMM_CUDA DeepSpeed mmcv pytorch3d gsplat ColossalAI FasterTransformer lightseq pytorch_scatter pytorch_cluster exllamav2; do
    clones="$clones $CLONES/$name"
  done
  # shellcheck disable=SC2086
  {
    "$python" benchmarks/foreign.py $clones --device cuda --out "$tables/foreign.txt"
    "$python" benchmarks/foreign.py $clones --out docs/foreign.txt
  }
}

agreement() { # the CPU device against the GPU; what CUDA's headers offer
  "$python" tools/agreement.py "$work/agreement.csv" >"$tables/agreement.txt"
  "$python" tests/conformance.py "$tables/conformance.txt"
}

contenders() { # kernels beside CUB, cuBLAS, CuPy, PyTorch and Triton
  for what in sum transpose matmul softmax; do
    run "contenders/$what" "experiment=${what}_contenders"
  done
}

limits() { # our fastest kernels beside CUB, cuBLAS, CuPy, PyTorch and a copy, at many sizes
  sums="experiment=sum_contenders block=512,1024 unroll=2,4,8 stream=0,1 blocks=2048"
  sizes="size=2**16,2**18,2**20,2**22,2**24,2**26"
  shapes="size=4096x4096,8192x8192,4097x4095,1000x100003"
  stencils="kernel=stencil1dVector,stencil1dShfl,stencil1dConstant,stencil1dRestrict block=128,256 blocks=2112"
  # shellcheck disable=SC2086
  {
    limit sums-int32 $sums $sizes,2**28 kernel=reducePacked,cubSum,cupySum,torchSum dtype=int32
    limit sums-float32 $sums $sizes kernel=reduceFlagged,cubSum,cupySum,torchSum dtype=float32
    limit sums-clean $sums size=2**20,2**24,2**28 kernel=reducePacked,cubSum dtype=int32 device.l2_lines=clean
    limit transposes experiment=transpose_contenders $shapes block=128,256 tile_rows=32,64 tile_cols=64
    limit stencils experiment=stencil $stencils size=2**20,2**24 dtype=float32,float64
  }
}

limit() { # NAME ARGUMENT...: a sweep, and the table of its fastest cases
  name=$1
  shift
  rm -rf "$work/limits/$name"
  "$python" -m runner "$@" device=cuda lines=none racecheck=none --quiet "hydra.sweep.dir=$work/limits/$name"
  "$python" benchmarks/limits.py "$work/limits/$name" >"$tables/limits/$name.txt"
}

measuring() { # how far the times can be trusted
  to=$tables/measuring
  "$python" benchmarks/queueing.py >"$to/queueing.txt"
  "$python" benchmarks/agreement.py >"$to/agreement.txt"
  # The noise that is found here counts in what follows, as it would in any later sweep.
  COLUMNS=120 "$python" -m runner.calibrate | sed -n '/^Noise/,/^└/p' >"$to/noise.txt"
  "$python" benchmarks/repeated_sweeps.py >"$to/repeated_sweeps.txt"
  "$python" benchmarks/faults.py >"$to/faults.txt"
  "$python" benchmarks/kernel_tuner.py --cases 20 --rounds 3 >"$to/kernel_tuner-20.txt"
  "$python" benchmarks/kernel_tuner.py --cases 384 --rounds 1 --compilers nvrtc >"$to/kernel_tuner-384.txt"
}

comparing() { # what runner.compare says of two sweeps, without and with a change
  "$python" benchmarks/comparing.py --again 1 --out "$work/comparing"
  cp "$work"/comparing/*.txt "$tables/comparing/"
}

profile() { # what Nsight Compute counts beside an earlier table and the addresses; what profiling adds to a sweep
  "$python" benchmarks/profiled.py --work "$work/profiled" --out "$tables/profile.txt"
}

energy() { # joules of a launch against nvidia-smi over a minute
  "$python" benchmarks/energy.py 60 >"$tables/energy.txt"
}

history() { # the index and the page of 2,000 runs; needs Chromium, no GPU
  "$python" benchmarks/history.py >docs/history.txt
}

lines() { # docs/lines.png: a source with its costs; needs Chromium, no GPU
  "$python" -m runner kernel=transposeSmem block=32x32 size=1024x1024 device=cpu lines=all hydra.sweep.dir="$work/lines" --quiet
  "$python" - "$work/lines/report.html" <<'END'
import pathlib, shutil, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as play:
    page = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]).new_page(viewport={"width": 1180, "height": 900})
    page.goto(pathlib.Path(sys.argv[1]).absolute().as_uri())
    page.locator(".every").check()
    page.locator(".listing").screenshot(path="docs/lines.png")
END
}

example() { # docs/example.html and docs/report.png: the report of `sweep`; the rows of tests/h200_sweep do as its folder
  [ -d "$work/sweep" ] || sweep
  "$python" -m runner.report "$work/sweep" --to docs/example.html
  profile=$(mktemp -d)
  chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --hide-scrollbars \
    --user-data-dir="$profile" --window-size=1280,900 --screenshot=docs/report.png "file://$PWD/docs/example.html" 2>/dev/null
  rm -rf "$profile"
  # 256 colours make a third of the file.
  "$python" -c "from PIL import Image; n = 'docs/report.png'; Image.open(n).convert('RGB').quantize(256, Image.Quantize.MAXCOVERAGE).save(n, optimize=True)"
}

[ $# -gt 0 ] || set -- help
[ "$1" != all ] || set -- $parts
for part in "$@"; do
  case " $parts " in *" $part "*) ;; *) echo "docs/evidence.sh: one or more of $parts, or all, are expected, not '$part'." >&2; exit 2 ;; esac
done
mkdir -p "$work" "$tables/steps" "$tables/limits" "$tables/measuring" "$tables/comparing"
for part in "$@"; do "$part"; done
