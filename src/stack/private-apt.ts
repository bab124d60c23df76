// apt, kept to itself: its lists, its cache and its idea of what is installed lie in a folder of ours, so that
// any user may use it and the machine's own apt never notices.

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { StackError } from './stack-error.ts';

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const FAULT_LINES_MAX = 6;

/** Where packages come from: a mirror, one suite of it, and parts of that. */
export interface Repository {
  uri: string;
  suite: string;
  components: readonly string[];
}

export interface PrivateApt {
  update(): Promise<void>;
  /** What an installation would download, on a machine on which nothing is installed. */
  listDownloads(packages: readonly string[]): Promise<{ count: number; bytes: number }>;
  /** Downloads it all; `onPackage` is told of each package that begins to come in. Returns the folder with the files. */
  download(packages: readonly string[], onPackage: () => void): Promise<string>;
}

/** The repository that this machine's own packages came from. */
export async function findOwnRepository(workFolder: string): Promise<Repository> {
  const lists = join(workFolder, 'machine-lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const uris = await run('apt-get', ['-o', `Dir::State::Lists=${lists}`, '--print-uris', 'update']);
  const repository = chooseOwnRepository(uris, readOsRelease().codename);
  if (!repository) throw new StackError('apt on this machine names no mirror of its own suite');
  return repository;
}

/** Lines look like `'http://mirror/debian/dists/bookworm/main/binary-amd64/Packages.xz' …`. */
export function chooseOwnRepository(printedUris: string, codename: string): Repository | null {
  const found = new Map<string, Repository & { components: string[] }>();
  for (const match of printedUris.matchAll(/^'([^']+?)\/dists\/([^/']+)\/([^/']+)\/binary-[^/']+\//gm)) {
    const [, uri, suite, component] = match as unknown as [string, string, string, string];
    const repository = found.get(`${uri} ${suite}`) ?? { uri, suite, components: [] };
    if (!repository.components.includes(component)) repository.components.push(component);
    found.set(`${uri} ${suite}`, repository);
  }
  const suites = [codename, 'stable', 'testing', 'unstable', 'sid'];
  for (const suite of suites) {
    for (const repository of found.values()) if (repository.suite === suite) return repository;
  }
  return null;
}

export async function preparePrivateApt(folder: string, repository: Repository): Promise<PrivateApt> {
  const at = (name: string) => join(folder, name);
  for (const name of ['lists/partial', 'archives/partial', 'log']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('status'), '');
  writeFileSync(at('sources.list'), sourceLine(repository));
  writeFileSync(at('apt.conf'), await configurationFor(folder));
  // `env` sets the one variable and leaves the rest as it is: a proxy may be configured there.
  const apt = (...args: string[]) =>
    ['env', [`APT_CONFIG=${at('apt.conf')}`, 'LC_ALL=C', 'apt-get', ...args]] as const;

  return {
    update: async () => {
      await run(...apt('update'));
    },
    listDownloads: async (packages) => {
      const uris = await run(...apt('--print-uris', '--download-only', 'install', ...packages));
      const sizes = [...uris.matchAll(/^'[^']+' \S+ (\d+) /gm)].map((match) => Number(match[1]));
      return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
    },
    download: async (packages, onPackage) => {
      await follow(apt('--download-only', 'install', ...packages), (line) => {
        if (line.startsWith('Get:')) onPackage();
      });
      return at('archives');
    },
  };
}

function sourceLine(repository: Repository): string {
  const { id } = readOsRelease();
  const keyring = ['pgp', 'gpg']
    .map((ending) => `/usr/share/keyrings/${id}-archive-keyring.${ending}`)
    .find((file) => existsSync(file));
  const options = keyring ? ` [signed-by=${keyring}]` : '';
  return `deb${options} ${repository.uri} ${repository.suite} ${repository.components.join(' ')}\n`;
}

/** Of the machine's configuration only how to reach a mirror and what to demand of it is kept; hooks would act on the machine. */
async function configurationFor(folder: string): Promise<string> {
  const machine = await run('apt-config', ['dump', '--format', '%F "%v";%n', 'Acquire']);
  const network = machine.split('\n').filter((line) => /^Acquire::(http|https|ftp|Force|Check)/.test(line));
  const architecture = (await run('dpkg', ['--print-architecture'])).trim();
  const nowhere = '/dev/null';
  const settings: Record<string, string> = {
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Cache::archives': join(folder, 'archives'),
    'Dir::Log': join(folder, 'log'),
    'Dir::Etc::main': nowhere,
    'Dir::Etc::parts': nowhere,
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': nowhere,
    'Dir::Etc::preferences': nowhere,
    'Dir::Etc::preferencesparts': nowhere,
    'APT::Architecture': architecture,
    'APT::Architectures::': architecture,
    'APT::Install-Recommends': 'false',
    'APT::Get::Assume-Yes': 'true',
    'Acquire::Languages': 'none',
    'Acquire::PDiffs': 'false',
    'Acquire::Retries': '3',
    // Or a mirror that cannot be reached would count as one that has nothing.
    'APT::Update::Error-Mode': 'any',
    // As root, apt would hand the download to a user who may not write in our folder.
    ...(process.getuid?.() === 0 ? { 'APT::Sandbox::User': 'root' } : {}),
  };
  return [...network, ...Object.entries(settings).map(([name, value]) => `${name} "${value}";`), ''].join(
    '\n',
  );
}

function readOsRelease(): { id: string; codename: string } {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const value = (name: string) => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? '';
  return { id: value('ID') || 'debian', codename: value('VERSION_CODENAME') };
}

export async function run(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { maxBuffer: OUTPUT_BYTES_MAX });
    return stdout;
  } catch (error) {
    const output = String((error as { stderr?: unknown }).stderr ?? '');
    throw commandFailed(command, args, output || (error as Error).message, error);
  }
}

async function follow(
  [command, args]: readonly [string, readonly string[]],
  onLine: (line: string) => void,
): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let faults = '';
  child.stderr.on('data', (chunk) => {
    faults += String(chunk);
  });
  const lines = createInterface({ input: child.stdout }).on('line', onLine);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  lines.close();
  if (code !== 0) throw commandFailed(command, args, faults || `exit code ${code}`);
}

function commandFailed(
  command: string,
  args: readonly string[],
  output: string,
  cause?: unknown,
): StackError {
  const name = command === 'env' ? 'apt-get' : command;
  const faults = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('W:'));
  const step = args.find((arg) => arg === 'update' || arg === 'install') ?? '';
  return new StackError(`${name} ${step}: ${faults.slice(0, FAULT_LINES_MAX).join(' · ')}`, { cause });
}
