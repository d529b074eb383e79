# The image of Dockerfile with what servers on stdin and stdout are often started with, and a shell:
# `docker build -f deploy/docker/launchers.Dockerfile --build-arg OMNIBUS_IMAGE=omnibus -t omnibus:launchers deploy/docker`.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG OMNIBUS_IMAGE=omnibus

FROM ${OMNIBUS_IMAGE} AS omnibus

FROM ${NODE_IMAGE}
# Behind a proxy with a certificate of its own, put that beside this file as `ca.crt`. It is public, and removed again.
COPY launchers.Dockerfile ca.cr[t] /build/
RUN if [ -s /build/ca.crt ]; then export PIP_CERT=/build/ca.crt; fi \
 && apt-get update -q \
 && apt-get install -y -q --no-install-recommends ca-certificates git python3 python3-venv \
 && python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv && ln -s /opt/uv/bin/uv /opt/uv/bin/uvx /usr/local/bin/ \
 && rm -rf /var/lib/apt/lists/* /build && install -d -o 1000 -g 1000 /var/lib/omnibus
COPY --from=omnibus /app /app
ARG VERSION=0.3.0
LABEL org.opencontainers.image.title="omnibus" org.opencontainers.image.licenses="MIT" org.opencontainers.image.version="${VERSION}" dev.omnibus.sbom="/app/sbom.cdx.json"
# Downloaded servers are kept where the user may write; mount a volume there.
ENV NODE_ENV=production OMNIBUS_KEYS_FILE=/var/lib/omnibus/keys.yaml HOME=/tmp npm_config_cache=/tmp/npm UV_CACHE_DIR=/tmp/uv
VOLUME /var/lib/omnibus
WORKDIR /app
USER 1000:1000
EXPOSE 7300 7301
ENTRYPOINT ["node", "/app/bin/omnibus.js"]
CMD ["serve", "--config", "/etc/omnibus/omnibus.yaml", "--listen", "0.0.0.0:7300", "--admin", "0.0.0.0:7301"]
