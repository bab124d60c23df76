// What a MySQL or MariaDB server says to whoever connects, before any login: its version.
//
// It says so only when it serves, after its start-up statements have run; so this is the readiness check too.

import { connect } from 'node:net';
import { type DatabaseFlavour, describe } from './programs.ts';

const PROTOCOL_VERSION = 10;
const ERROR_PACKET = 0xff;
const HEADER_BYTES = 4;

/** Resolves to "MySQL 9.7.0"; rejects when nothing answers, or when it is no such server. */
export function readGreeting(target: {
  host: string;
  port: number;
  timeoutMs: number;
  signal?: AbortSignal;
}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: target.host, port: target.port });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    let received = Buffer.alloc(0);
    socket.setTimeout(target.timeoutMs, () => fail(new Error(`no answer in ${target.timeoutMs} ms`)));
    socket.once('error', fail);
    socket.once('close', () => reject(new Error('the connection was closed without a greeting')));
    target.signal?.addEventListener('abort', () => fail(new Error('given up')), { once: true });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!isWhole(received)) return;
      socket.destroy();
      try {
        resolve(parseGreeting(received));
      } catch (error) {
        reject(error);
      }
    });
  });
}

function isWhole(packet: Buffer): boolean {
  return packet.length >= HEADER_BYTES && packet.length >= HEADER_BYTES + packet.readUIntLE(0, 3);
}

/** Handshake packet: length (3), sequence (1), protocol (1), version as text ending in a zero byte, … */
export function parseGreeting(packet: Buffer): string {
  const kind = packet[HEADER_BYTES];
  if (kind === ERROR_PACKET)
    throw new Error(`refused: ${packet.subarray(HEADER_BYTES + 3).toString('utf8')}`);
  if (kind !== PROTOCOL_VERSION) throw new Error('what answers there is neither MySQL nor MariaDB');
  const end = packet.indexOf(0, HEADER_BYTES + 1);
  const text = packet.subarray(HEADER_BYTES + 1, end).toString('latin1');
  const flavour: DatabaseFlavour = /mariadb/i.test(text) ? 'mariadb' : 'mysql';
  // MariaDB puts "5.5.5-" in front, for replicas that cannot read a version of two digits.
  const version = /^(?:5\.5\.5-)?(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? text;
  return describe({ flavour, version });
}
