import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import express, { type Response } from 'express';
import { pino } from 'pino';
import { answerErrors } from '../../src/http/answer-errors.ts';
import { limitConcurrency } from '../../src/http/concurrency-limit.ts';
import { eventually } from '../support/engine.ts';

describe('requests of one partner at once', () => {
  it('ING-7 ING-10 one too many: 429 with Retry-After; others are let in; an end or a broken connection makes room', async () => {
    const held: Response[] = [];
    const arrivals: (() => void)[] = [];
    const app = express();
    app.use(limitConcurrency(2, (request) => String(request.headers.partner)));
    app.use((_request, response) => {
      held.push(response);
      arrivals.shift()?.();
    });
    app.use(answerErrors(pino({ level: 'silent' })));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ask = (partner: string, init: RequestInit = {}) => fetch(url, { ...init, headers: { partner } });
    /** Begins a request that is not answered until the test says so; goes on when it has been let in. */
    const begin = async (partner: string, init: RequestInit = {}) => {
      const arrived = Promise.withResolvers<void>();
      arrivals.push(arrived.resolve);
      ask(partner, init).catch(() => {});
      await arrived.promise;
    };

    const leaving = new AbortController();
    await begin('a', { signal: leaving.signal });
    await begin('a');
    const refused = await ask('a');
    const { code } = (await refused.json()) as { code: string };
    expect([refused.status, code]).to.deep.equal([429, 'TOO_MANY_AT_ONCE']);
    expect(Number(refused.headers.get('retry-after'))).to.be.greaterThan(0);
    await begin('b');

    const broken = once(held[0]!, 'close');
    leaving.abort();
    await broken;
    await begin('a');
    expect((await ask('a')).status).to.equal(429);
    const ended = once(held[1]!, 'close');
    held[1]!.end();
    await ended;
    await begin('a');
    server.closeAllConnections();
    server.close();
  });

  it('ING-7 a sender that has gone before its request comes here takes no room, ever', async () => {
    const gone = Promise.withResolvers<void>();
    let arrived = 0;
    const app = express();
    // As an authentication that asks the database, while the sender breaks off.
    app.use(async (request, _response, next) => {
      if (request.headers.leaving === undefined) return next();
      arrived += 1;
      await once(request.socket, 'close');
      next();
      if (arrived === 5) gone.resolve();
    });
    app.use(limitConcurrency(2, () => 'a'));
    app.use((_request, response) => void response.end());
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    for (let count = 0; count < 5; count++) {
      const before = arrived;
      const socket = connect(port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nleaving: yes\r\n\r\n');
      await eventually('the request to arrive', () => arrived > before);
      socket.destroy();
    }
    await gone.promise;
    expect((await fetch(`http://127.0.0.1:${port}`)).status).to.equal(200);
    server.closeAllConnections();
    server.close();
  });
});
