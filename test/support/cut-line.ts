/** A line to a server that can be cut and mended, for tests of what happens while a database or Redis is away. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Line {
  /** The server's address, by way of this line. */
  readonly url: string;
  /** Ends every connection; new ones are refused until it is mended. */
  cut(): void;
  /** Connections that are open stay half-open for ever: nothing comes through, nobody is told. New ones work. */
  silence(): void;
  mend(): void;
  /** How many connections were refused so far. */
  refused(): number;
  close(): Promise<void>;
}

export async function openLine(serverUrl: string): Promise<Line> {
  const server = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let isCut = false;
  let refused = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  const join = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => silent.has(from) || to.write(bytes));
    from.on('close', () => silent.has(from) || to.destroy());
  };
  const listener = createServer((near) => {
    if (isCut) {
      refused += 1;
      near.destroy();
      return;
    }
    const far = connect(Number(server.port), server.hostname);
    keep(near);
    keep(far);
    join(near, far);
    join(far, near);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String((listener.address() as AddressInfo).port);
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    silence: () => {
      for (const socket of sockets) silent.add(socket);
    },
    mend: () => {
      isCut = false;
    },
    refused: () => refused,
    close: async () => {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
