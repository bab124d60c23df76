/** Listening, and closing without cutting answers off. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request's head must come within this; a body has the limit of its route. */
const HEADERS_TIMEOUT_MS = 20_000;
const CLOSE_GRACE_MS = 5_000;

export interface HttpServer {
  readonly server: Server;
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** Takes no new connection, lets answers end, cuts what is left after `graceMs`. */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Longer than the longest time that a route gives a body. */
  readonly requestTimeoutMs: number;
}

/** @throws the system's error where the address cannot be had */
export async function listen(app: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: options.requestTimeoutMs },
    app,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    server,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: (graceMs = CLOSE_GRACE_MS) => closeServer(server, graceMs),
  };
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
