import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { findFreePort, isFree, LOOPBACK } from '../../src/stack/ports.ts';

describe('stack: ports', () => {
  it('finds a port on which a server can listen', async () => {
    expect(await isFree(await findFreePort())).to.equal(true);
  });

  it('stays below the ports that outgoing connections are given', async () => {
    expect(await findFreePort()).to.be.within(20_000, 32_000);
  });

  it('knows a taken port', async () => {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, 'listening');
    try {
      expect(await isFree((server.address() as AddressInfo).port)).to.equal(false);
    } finally {
      server.close();
    }
  });
});
