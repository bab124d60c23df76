import { expect } from 'chai';
import { findFreePort, isFree } from '../../src/stack/ports.ts';

describe('stack: ports', () => {
  it('finds a port on which a server can listen', async () => {
    expect(await isFree(await findFreePort())).to.equal(true);
  });
});
