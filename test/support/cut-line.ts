/** A line to a server that can be cut and mended, for tests of what happens while a database or Redis is away. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Line {
  /** The server's address, by way of this line. */
  readonly url: string;
  /** Ends every connection; new ones are refused until it is mended. */
  cut(): void;
  mend(): void;
  /** Nothing comes through any more, in either direction, and nobody is told: a half-open connection. */
  silence(): void;
  /** How many connections were refused so far. */
  refused(): number;
  close(): Promise<void>;
}

export async function openLine(serverUrl: string): Promise<Line> {
  const server = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  let refused = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
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
    near.on('close', () => far.destroy());
    far.on('close', () => isSilent || near.destroy());
    near.on('data', (bytes) => isSilent || far.write(bytes));
    far.on('data', (bytes) => isSilent || near.write(bytes));
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
    mend: () => {
      isCut = false;
      isSilent = false;
    },
    silence: () => {
      isSilent = true;
    },
    refused: () => refused,
    close: async () => {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
