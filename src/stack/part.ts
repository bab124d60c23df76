// One of the two servers of a stack, as the stack tells of it.

import type { ProgramOrigin } from './locate.ts';
import type { Server } from './server.ts';

export type Origin = 'given' | ProgramOrigin;

export interface Part {
  url: string;
  /** "MySQL 9.7.0" */
  version: string;
  origin: Origin;
  server: Server;
}
