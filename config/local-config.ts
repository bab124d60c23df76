/** What a command that brings up its own servers takes from the environment: which servers are given, and the rest. */
import { type Config, readConfig } from './config.ts';

/** Addresses of servers that exist already; what is missing is brought up. */
export interface GivenServers {
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  /** Where programs are looked for. */
  readonly searchPath: string | undefined;
}

export function givenServers(): GivenServers {
  return {
    databaseUrl: process.env.DATABASE_URL || undefined,
    redisUrl: process.env.REDIS_URL || undefined,
    searchPath: process.env.PATH,
  };
}

/** Settings by their names in the environment; those in `overrides` win, those in `defaults` yield to the environment. */
export interface LocalSettings {
  readonly defaults: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, string>>;
}

/** @throws ConfigError */
export function readLocalConfig(settings: LocalSettings): Config {
  const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''));
  return readConfig({ ...settings.defaults, ...given, ...settings.overrides });
}
