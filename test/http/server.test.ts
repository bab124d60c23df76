/** Closing: what is under way is answered, and nothing else is waited for. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { listen } from '../../src/http/server.ts';
import { signal } from '../support/engine.ts';

/** What a connection that stays would hold the close up for. */
const GRACE_MS = 30_000;

describe('a server that closes', () => {
  it('ING-6 ENG-11 ends a connection with the answer that is under way on it, and is closed then', async () => {
    const begun = signal<ServerResponse>();
    const server = await listen((_request, response) => begun.give(response), {
      host: '127.0.0.1',
      port: 0,
      requestTimeoutMs: GRACE_MS,
    });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk.toString();
    });
    const ended = once(socket, 'close');
    const ask = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    socket.write(ask);
    const response = await begun.given;
    const closed = server.close(GRACE_MS);
    // Sent on behind the first, it gets no answer here: its sender asks again elsewhere.
    socket.write(ask);
    response.end('done');
    await closed;
    await ended;
    expect(answers).to.match(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n[\s\S]*done/);
    expect(answers.match(/HTTP\/1\.1/g)).to.have.length(1);
  });
});
