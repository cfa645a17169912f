# An image with the command barlake: docker build --tag barlake .
# It serves the lake in /barlake/data, unless another command is given: docker run --init --volume lake:/barlake barlake barlake status
# An init (--init; init: true in compose files) makes signals end a command that waits for a store, too: the kernel drops them for a first process.
FROM node:24-bookworm-slim AS package
WORKDIR /source
COPY . .
RUN npm ci && mkdir /package && npm pack --pack-destination /package

FROM node:24-bookworm-slim
COPY --from=package /package /package
RUN npm install --global /package/*.tgz \
  && npm cache clean --force \
  && rm -r /package \
  && mkdir /barlake /work \
  && chown node:node /barlake /work
USER node
# Unfinished work of a lake in an object store: docs/beyond-one-machine.md.
ENV BARLAKE_WORK=/work
# Pipelines, notebooks, barlake.config.json and, where the lake is in a folder, data.
WORKDIR /barlake
VOLUME /barlake
# The environment goes before barlake.config.json: the health check asks where the service listens.
ENV BARLAKE_PORT=8080
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.BARLAKE_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["barlake", "serve", "--host", "0.0.0.0"]
