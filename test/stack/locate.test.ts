import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startStack } from '../../src/stack/embedded-stack.ts';
import { type LocateRequest, locatePrograms } from '../../src/stack/locate.ts';
import { parseVersion } from '../../src/stack/programs.ts';

const VERSION_LINES: [line: string, means: object | null][] = [
  ['/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))', { flavour: 'mysql', version: '9.7.4' }],
  [
    'mysqld  Ver 8.4.3 for Linux on aarch64 (MySQL Community Server - GPL)',
    { flavour: 'mysql', version: '8.4.3' },
  ],
  [
    'mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)',
    { flavour: 'mariadb', version: '10.11.14' },
  ],
  [
    'Redis server v=8.0.6 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64',
    { flavour: 'redis', version: '8.0.6' },
  ],
  ['Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0', { flavour: 'valkey', version: '8.1.1' }],
  ['command not found', null],
];

describe('stack: locating the servers', () => {
  let folder: string;
  let bin: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rooftally-locate-'));
    bin = join(folder, 'bin');
    mkdirSync(bin);
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  for (const [line, means] of VERSION_LINES) {
    it(`reads "${line}"`, () => expect(parseVersion(line)).to.deep.equal(means));
  }

  it('takes what is on the PATH', async () => {
    plant('mysqld', 'mysqld  Ver 9.1.0 for Linux on x86_64 (Source)');
    plant('valkey-server', 'Valkey server v=8.1.1 sha=0 malloc=libc');
    const found = await locatePrograms(request());
    expect(found.database).to.deep.include({ flavour: 'mysql', version: '9.1.0', origin: 'path' });
    expect(found.redis).to.deep.include({ flavour: 'valkey', version: '8.1.1', origin: 'path' });
    expect(found.database?.executable).to.equal(join(bin, 'mysqld'));
  });

  it('passes over a version that is not supported, and says so', async () => {
    plant('mysqld', 'mysqld  Ver 5.7.44 for Linux on x86_64 (Source)');
    plant('mariadbd', 'mariadbd  Ver 11.4.2-MariaDB for Linux on x86_64');
    plant('redis-server', 'Redis server v=7.4.0 sha=0');
    const said: string[] = [];
    const found = await locatePrograms(request({ log: (line) => said.push(line) }));
    expect(found.database).to.deep.include({ flavour: 'mariadb', version: '11.4.2' });
    expect(said.join()).to.include('MySQL 5.7.44 is older than 8.4.0');
  });

  it('takes the kind of database that is insisted on', async () => {
    plant('mysqld', 'mysqld  Ver 9.1.0 for Linux on x86_64 (Source)');
    plant('mariadbd', 'mariadbd  Ver 11.4.2-MariaDB for Linux on x86_64');
    plant('redis-server', 'Redis server v=7.4.0 sha=0');
    const found = await locatePrograms(request({ flavour: 'mariadb' }));
    expect(found.database?.flavour).to.equal('mariadb');
  });

  it('looks for nothing that was given', async () => {
    plant('redis-server', 'Redis server v=7.4.0 sha=0');
    const found = await locatePrograms(request({ needs: { database: false, redis: true } }));
    expect(found.database).to.equal(undefined);
    expect(found.redis?.version).to.equal('7.4.0');
  });

  it('goes on to the next source of packages when one fails', async () => {
    plant('redis-server', 'Redis server v=7.4.0 sha=0');
    const said: string[] = [];
    const broken = (name: string) => ({
      name,
      says: name,
      suite: null,
      database: 'mysql' as const,
      packages: ['none'],
    });
    // Where a folder should be made there is a file: neither source can even begin.
    writeFileSync(join(folder, 'packages'), '');
    const refusal = await refusalOf(
      locatePrograms(
        request({ sources: [broken('first'), broken('second')], log: (line) => said.push(line) }),
      ),
    );
    expect(said.map((line) => line.split(':')[0])).to.deep.equal(['no first', 'no second']);
    expect(refusal).to.include('first').and.to.include('second');
  });

  it('says clearly what was looked for when there is nothing, and what to do', async () => {
    const refusal = await refusalOf(
      startStack({ purpose: 'test', root: folder, fresh: true, searchPath: '', mayDownload: false }),
    );
    expect(refusal).to.include('No MySQL and no Redis was found');
    expect(refusal).to.include('DATABASE_URL and REDIS_URL');
    expect(refusal).to.include('mysqld, mariadbd, redis-server, valkey-server');
    expect(refusal).to.include('docker compose up -d');
  });

  it('leaves its folder free after it found nothing', async () => {
    const options = {
      purpose: 'test',
      root: folder,
      fresh: true,
      searchPath: '',
      mayDownload: false,
    } as const;
    await refusalOf(startStack(options));
    expect(await refusalOf(startStack(options))).to.include('No MySQL');
    expect(existsSync(join(folder, 'packages'))).to.equal(false);
  });

  function plant(name: string, says: string): void {
    writeFileSync(join(bin, name), `#!/bin/sh\necho '${says}'\n`);
    chmodSync(join(bin, name), 0o755);
  }

  function request(changes: Partial<LocateRequest> = {}): LocateRequest {
    return {
      searchPath: bin,
      packagesFolder: join(folder, 'packages'),
      sources: [],
      flavour: null,
      needs: { database: true, redis: true },
      log: () => {},
      ...changes,
    };
  }
});

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const outcome = await work.then(
    () => null,
    (error: Error) => error.message,
  );
  if (outcome === null) throw new Error('it was not refused');
  return outcome;
}
