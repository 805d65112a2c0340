# The README's two commands on a bare Debian: `docker build -t kernel-runner .`, `docker run kernel-runner experiment=shuffle_tour`.
# On a GPU: FROM nvidia/cuda:13.0.0-devel-ubuntu24.04, and `docker run --gpus all`.
ARG BASE=debian:trixie-slim
FROM ${BASE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv python3-dev make g++ git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/kernel-runner
COPY . .
RUN make sweep
# The other command, `make test`, needs a quarter of an hour: docker run --entrypoint make kernel-runner test
ENTRYPOINT ["/opt/kernel-runner/.venv/bin/runner"]
CMD ["--help"]
