import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import { lingerAfterEarlyAnswers } from '../../src/http/linger.ts';

const refuse: RequestHandler = (_request, response) => {
  response.status(401).end('no');
};
const refuseAfterTheFirstPiece: RequestHandler = (request, response) => {
  request.once('data', () => {
    request.pause();
    response.status(413).end('no');
  });
};

describe('a sender that goes on after it was answered', () => {
  for (const [what, handler] of [
    ['before its body', refuse],
    ['in the middle of its body', refuseAfterTheFirstPiece],
  ] as const) {
    it(`ING-10 ${what}: it has had its answer, and is cut off after a while`, async function () {
      this.timeout(3_000);
      const app = express();
      app.use(lingerAfterEarlyAnswers(50), handler);
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      let answer = '';
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1');
      });
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n{');
      // It sends on for ever, so that no idle connection is what ends.
      const sender = setInterval(() => socket.write('x'.repeat(1_000)), 5);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(sender);
      server.close();
      expect(answer).to.match(/^HTTP\/1\.1 4(01|13) /);
    });
  }
});
