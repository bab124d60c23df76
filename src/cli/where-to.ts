/** Which API a command talks to and as whom: as its options say, else the demo that is running here. */
import { basename } from 'node:path';
import { Failure } from '../errors.ts';
import { ApiClient, ApiError } from './api-client.ts';
import { type DemoState, findDemoState } from './demo/state-file.ts';
import { readCredentialFile } from './request-signer.ts';

export interface PartnerOptions {
  readonly url?: string;
  readonly key?: string;
  /** The organisation code of one of the demo's partners. */
  readonly partner?: string;
  /** A file with the key's id and signing secret: every request is signed. */
  readonly sign?: string;
}

export interface AdminOptions {
  readonly url?: string;
  readonly token?: string;
}

/** @param file the file to be sent, which says whose it is if it is one of the example's */
export function partnerClient(options: PartnerOptions, file?: string): ApiClient {
  const credential = options.sign === undefined ? null : readCredentialFile(options.sign);
  const key = options.key ?? credential?.key;
  const signer = credential?.signer ?? null;
  if (options.url !== undefined && key !== undefined) return new ApiClient(options.url, key, signer);
  const demo = requireDemo('--url and --key');
  const url = options.url ?? demo.url;
  if (key !== undefined) return new ApiClient(url, key, signer);
  const orgCode = options.partner ?? (file === undefined ? undefined : demo.files[basename(file)]);
  const partner = demo.partners.find((candidate) => candidate.orgCode === orgCode);
  if (partner !== undefined) return new ApiClient(url, partner.key, signer);
  const known = demo.partners.map((candidate) => candidate.orgCode).join(', ');
  throw new Failure('WHOSE', `Say whose push it is: --key, or --partner with one of the demo's: ${known}`);
}

/** The client of whichever demo partner this push belongs to: to the others it does not exist (ING-1). */
export async function clientForPush(options: PartnerOptions, pushId: string): Promise<ApiClient> {
  const isNamed = [options.key, options.partner, options.sign].some((given) => given !== undefined);
  if (isNamed) return partnerClient(options);
  const demo = requireDemo('--url and --key');
  for (const { key } of demo.partners) {
    const client = new ApiClient(options.url ?? demo.url, key);
    if (await exists(client, pushId)) return client;
  }
  throw new Failure('NOT_FOUND', `No partner of the demo has a push ${pushId}`);
}

export function adminClient(options: AdminOptions): ApiClient {
  if (options.url !== undefined && options.token !== undefined)
    return new ApiClient(options.url, options.token);
  const demo = requireDemo('--url and --token');
  return new ApiClient(options.url ?? demo.url, options.token ?? demo.adminToken);
}

function requireDemo(otherwise: string): DemoState {
  const demo = findDemoState();
  if (demo !== null) return demo;
  throw new Failure('WHERE', `No demo is running here (npm run demo); else say where with ${otherwise}`);
}

async function exists(client: ApiClient, pushId: string): Promise<boolean> {
  try {
    await client.get(`/api/v1/pushes/${encodeURIComponent(pushId)}`);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
