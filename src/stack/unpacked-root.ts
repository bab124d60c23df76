// Programs in a folder of unpacked packages, called through that folder's own loader and libraries: the
// machine's C library may be older than theirs.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Installation, Invocation } from './programs.ts';

export function findInRoot(root: string, command: string): Invocation | null {
  const program = ['usr/sbin', 'usr/bin'].map((folder) => join(root, folder, command)).find(existsSync);
  const libraries = findLibraries(root);
  if (!program || !libraries) return null;
  return {
    executable: libraries.loader,
    before: ['--library-path', libraries.searchPath, program],
  };
}

export function installationIn(root: string): Installation {
  const share = ['usr/share/mysql', 'usr/share/mariadb'].map((folder) => join(root, folder)).find(existsSync);
  const plugins = ['usr/lib/mysql/plugin', 'usr/lib/mariadb/plugin'];
  return {
    baseFolder: join(root, 'usr'),
    shareFolder: share ?? join(root, 'usr/share/mysql'),
    pluginFolder: plugins.map((folder) => join(root, folder)).find(existsSync) ?? join(root, 'usr/lib'),
  };
}

/**
 * Libraries lie in a folder that is called after the machine's architecture, the loader among them. Older
 * packages use `lib` for some, newer ones `usr/lib` for all.
 */
function findLibraries(root: string): { searchPath: string; loader: string } | null {
  const folders = ['usr/lib', 'lib']
    .map((folder) => join(root, folder))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((folder) => folder.includes('-linux-'));
  for (const folder of folders) {
    const loader = readdirSync(folder).find((file) => /^ld-linux.*\.so\.\d+$/.test(file));
    if (loader) return { searchPath: folders.join(':'), loader: join(folder, loader) };
  }
  return null;
}
