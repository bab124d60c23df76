import { expect } from 'chai';
import { AcceptGate } from '../../src/ingest/accept-gate.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the gate before the accepting transaction', () => {
  it('ING-7 lets a partner’s pushes through a few at a time, in order, and others past them', async () => {
    const gate = new AcceptGate(2);
    const events: string[] = [];
    const ends: (() => void)[] = [];
    const start = (partner: string, name: string) =>
      gate.run(partner, async () => {
        events.push(name);
        const end = Promise.withResolvers<void>();
        ends.push(end.resolve);
        await end.promise;
      });
    const runs = ['a1', 'a2', 'a3', 'a4'].map((name) => start('a', name));
    runs.push(start('b', 'b1'));
    await turn();
    expect(events).to.deep.equal(['a1', 'a2', 'b1']);
    ends[0]!();
    await runs[0];
    await turn();
    expect(events).to.deep.equal(['a1', 'a2', 'b1', 'a3']);
    for (let at = 1; at < 4; at++) ends[at]!();
    await Promise.all([runs[1], runs[2], runs[4]]);
    await turn();
    ends[4]!();
    await runs[3];
    expect(events).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'a4']);
  });

  it('ING-7 a push that fails gives its place up', async () => {
    const gate = new AcceptGate(1);
    const failed = gate.run('a', () => Promise.reject(new Error('no')));
    const next = gate.run('a', async () => 'yes');
    expect(await failed.catch((error: Error) => error.message)).to.equal('no');
    expect(await next).to.equal('yes');
    expect(await gate.run('a', async () => 'again')).to.equal('again');
  });
});
