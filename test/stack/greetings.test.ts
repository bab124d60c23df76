import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { parseGreeting, readGreeting } from '../../src/stack/mysql-greeting.ts';
import { LOOPBACK } from '../../src/stack/ports.ts';
import { askRedis, readRedisVersion } from '../../src/stack/redis-protocol.ts';
import { getStack } from '../support/stack.ts';

describe('stack: asking servers who they are', () => {
  it('knows MySQL by its greeting', () => {
    expect(parseGreeting(packet(10, '8.4.3'))).to.equal('MySQL 8.4.3');
  });

  it('knows MariaDB by its greeting', () => {
    expect(parseGreeting(packet(10, '5.5.5-10.11.14-MariaDB-0+deb12u2'))).to.equal('MariaDB 10.11.14');
    expect(parseGreeting(packet(10, '11.8.2-MariaDB'))).to.equal('MariaDB 11.8.2');
  });

  it('passes on why a database refuses', () => {
    expect(() => parseGreeting(packet(0xff, '\x10\x04Too many connections'))).to.throw(
      'Too many connections',
    );
  });

  it('reads the whole of a Redis answer, however it arrives', async () => {
    const replies = await askRedis({ url: getStack().redisUrl, timeoutMs: 5_000 }, [
      ['PING'],
      ['INFO'],
      ['ECHO', 'ü'],
    ]);
    expect(replies).to.have.length(3);
    expect(replies[0]).to.equal('PONG');
    expect(replies[1]).to.include('redis_version:');
  });

  it('says what a server of another kind is not', async () => {
    await withServer('HTTP/1.1 400 Bad Request\r\n\r\n', async (port) => {
      const refusal = await readGreeting({ host: LOOPBACK, port, timeoutMs: 300 }).catch(
        (error: Error) => error.message,
      );
      expect(refusal).to.match(/neither MySQL nor MariaDB|no answer|without a greeting/);
    });
  });

  it('gives up on a Redis that asks for a password it was not given', async () => {
    const url = new URL(getStack().redisUrl);
    if (!url.password) return;
    url.password = '';
    const refusal = await readRedisVersion({ url: url.href, timeoutMs: 5_000 }).catch(
      (error: Error) => error.message,
    );
    expect(refusal).to.include('NOAUTH');
  });
});

function packet(kind: number, text: string): Buffer {
  const body = Buffer.concat([Buffer.from([kind]), Buffer.from(text, 'latin1'), Buffer.alloc(9)]);
  const header = Buffer.alloc(4);
  header.writeUIntLE(body.length, 0, 3);
  return Buffer.concat([header, body]);
}

async function withServer(says: string, run: (port: number) => Promise<void>): Promise<void> {
  const server: Server = createServer((socket) => socket.end(says)).listen(0, LOOPBACK);
  await once(server, 'listening');
  try {
    await run((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}
