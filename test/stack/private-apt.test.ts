import { expect } from 'chai';
import { chooseOwnRepository } from '../../src/stack/private-apt.ts';

const PRINTED = `
'http://mirror.example/debian/dists/bookworm/InRelease' mirror.example_debian_dists_bookworm_InRelease 0
'http://mirror.example/debian/dists/bookworm/main/binary-amd64/Packages.xz' bookworm_main_binary-amd64_Packages 0
'http://mirror.example/debian/dists/bookworm/main/binary-all/Packages.xz' bookworm_main_binary-all_Packages 0
'http://mirror.example/debian/dists/bookworm/contrib/binary-amd64/Packages.xz' bookworm_contrib_Packages 0
'http://mirror.example/debian-security/dists/bookworm-security/main/binary-amd64/Packages.xz' security_Packages 0
'https://elsewhere.example/tools/dists/nodistro/main/binary-amd64/Packages.xz' elsewhere_Packages 0
`;

describe("stack: the machine's own package mirror", () => {
  it('is the one that has the suite of this machine', () => {
    expect(chooseOwnRepository(PRINTED, 'bookworm')).to.deep.equal({
      uri: 'http://mirror.example/debian',
      suite: 'bookworm',
      components: ['main', 'contrib'],
    });
  });

  it('is found by the usual names where the machine does not tell its suite', () => {
    expect(chooseOwnRepository(PRINTED.replaceAll('/bookworm/', '/unstable/'), '')?.suite).to.equal(
      'unstable',
    );
  });

  it('is missing where apt names none', () => {
    expect(chooseOwnRepository('', 'bookworm')).to.equal(null);
  });
});
