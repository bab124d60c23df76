# Production image: TypeScript runs as it is, so there is no build, only the packages that production needs.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production \
    ROOFTALLY_HOST=0.0.0.0 \
    ROOFTALLY_PORT=8080
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY config config
COPY queues queues
COPY actors actors
COPY src src
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ROOFTALLY_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Exec form: the process gets SIGTERM itself and shuts down in order.
ENTRYPOINT ["node", "src/cli/main.ts"]
CMD ["serve"]
