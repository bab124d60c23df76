// Enough of the Redis protocol to ask a server a few questions without a client library.

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe } from './programs.ts';

export interface RedisTarget {
  url: string;
  timeoutMs: number;
  signal?: AbortSignal;
}

/** Sends the commands in one go and returns as many replies. Rejects with the first error reply. */
export function askRedis(target: RedisTarget, commands: readonly (readonly string[])[]): Promise<string[]> {
  const url = new URL(target.url);
  const all = [...loginOf(url), ...commands];
  return new Promise((resolve, reject) => {
    const socket = openSocket(url);
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    let received = '';
    socket.setEncoding('latin1');
    socket.setTimeout(target.timeoutMs, () => fail(new Error(`no answer in ${target.timeoutMs} ms`)));
    socket.once('error', fail);
    socket.once('close', () => reject(new Error('the connection was closed without an answer')));
    target.signal?.addEventListener('abort', () => fail(new Error('given up')), { once: true });
    socket.on('data', (chunk) => {
      received += chunk;
      const replies = parseReplies(received, all.length);
      if (!replies) return;
      socket.destroy();
      const refusal = replies.find((reply) => reply.startsWith('-'));
      if (refusal) reject(new Error(refusal.slice(1)));
      else resolve(replies.slice(all.length - commands.length).map((reply) => reply.slice(1)));
    });
    socket.write(all.map(encodeCommand).join(''));
  });
}

/** "Redis 8.0.6"; rejects until the server has read its data and serves. */
export async function readRedisVersion(target: RedisTarget): Promise<string> {
  const [, info] = await askRedis(target, [['PING'], ['INFO', 'server']]);
  const valkey = /^valkey_version:(\S+)/m.exec(info ?? '')?.[1];
  if (valkey) return describe({ flavour: 'valkey', version: valkey });
  return describe({ flavour: 'redis', version: /^redis_version:(\S+)/m.exec(info ?? '')?.[1] ?? 'unknown' });
}

function openSocket(url: URL): Socket {
  const place = { host: url.hostname, port: Number(url.port || 6379) };
  return url.protocol === 'rediss:' ? connectTls({ ...place, servername: url.hostname }) : connect(place);
}

function loginOf(url: URL): string[][] {
  if (!url.password) return [];
  const password = decodeURIComponent(url.password);
  return [url.username ? ['AUTH', decodeURIComponent(url.username), password] : ['AUTH', password]];
}

function encodeCommand(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join('')}`;
}

/** The replies, each with its first character as its kind; null while some are still on their way. */
function parseReplies(text: string, count: number): string[] | null {
  const replies: string[] = [];
  let at = 0;
  while (replies.length < count) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const line = text.slice(at, lineEnd);
    at = lineEnd + 2;
    if (!line.startsWith('$')) {
      replies.push(line);
      continue;
    }
    const length = Number(line.slice(1));
    if (length >= 0 && text.length < at + length + 2) return null;
    replies.push(`$${length < 0 ? '' : text.slice(at, at + length)}`);
    at += Math.max(length + 2, 0);
  }
  return replies;
}
