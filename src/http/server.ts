/** Listening, and closing without cutting answers off. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
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
  const open = watchAnswers(server);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    server,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: (graceMs = CLOSE_GRACE_MS) => closeServer(server, open, graceMs),
  };
}

/** The answers that have not ended; those that begin after the server stopped listening are its connections' last. */
function watchAnswers(server: Server): ReadonlySet<ServerResponse> {
  const open = new Set<ServerResponse>();
  server.prependListener('request', (_request, response) => {
    if (!server.listening) endConnectionWith(response);
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  return open;
}

/** A connection that stays after its answer holds the stop up, and the next request on it may be cut off. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

async function closeServer(
  server: Server,
  open: ReadonlySet<ServerResponse>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const response of open) endConnectionWith(response);
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
