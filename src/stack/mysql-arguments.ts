// How the database program is called, whatever it is called for.

import { join } from 'node:path';
import type { DatabaseProgram } from './programs.ts';

/** What every call of the server program begins with, the one that makes a data folder included. */
export function mysqlArguments(program: DatabaseProgram, dataFolder: string): string[] {
  const installation = program.installation;
  return [
    ...program.before,
    '--no-defaults',
    ...(installation
      ? [
          `--basedir=${installation.baseFolder}`,
          `--lc-messages-dir=${installation.shareFolder}`,
          `--character-sets-dir=${join(installation.shareFolder, 'charsets')}`,
          `--plugin-dir=${installation.pluginFolder}`,
          '--secure-file-priv=',
        ]
      : []),
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    `--datadir=${dataFolder}`,
  ];
}
