/** The partner API over real HTTP on a loopback port, on the test's database, and partners who ask it things. */
import { type Logger, pino } from 'pino';
import type { StageName } from '../../src/domain/stage.ts';
import { createApp } from '../../src/http/app.ts';
import type { Pingable } from '../../src/http/health.ts';
import { listen } from '../../src/http/server.ts';
import type { SigningSettings } from '../../src/http/verify-signature.ts';
import type { IngestLimits } from '../../src/ingest/limits.ts';
import type { PaymentLockCheck } from '../../src/ingest/payment-lock-check.ts';
import type { Store } from '../../src/store/transaction.ts';

export const LIMITS: IngestLimits = {
  rowsMax: 1_000,
  stationsMax: 100,
  bytesMax: 1024 * 1024,
  receiveTimeoutMs: 20_000,
  ratePerMinute: 10_000,
  spoolDir: undefined,
  identityDays: 90,
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has; each test looks at what it is about
  readonly body: any;
}

export interface PushRequest {
  /** The Idempotency-Key; a fresh one if left out, none if null. */
  readonly identity?: string | null;
  /** With its question mark. */
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

export interface PartnerClient {
  /** A string or bytes are sent as they are, anything else as JSON. */
  push(body: unknown, request?: PushRequest): Promise<Answer>;
  get(path: string): Promise<Answer>;
}

export interface PartnerApi {
  readonly url: string;
  /** Which stages were woken, for whom. */
  readonly kicks: [StageName, string][];
  as(partner: { readonly key: string }): PartnerClient;
  ask(path: string, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

export interface PartnerApiParts {
  readonly signing?: SigningSettings;
  readonly limits?: Partial<IngestLimits>;
  readonly lockCheck?: PaymentLockCheck;
  readonly redis?: Pingable;
  readonly log?: Logger;
}

let lastIdentity = 0;

export async function startPartnerApi(store: Store, parts: PartnerApiParts = {}): Promise<PartnerApi> {
  const kicks: [StageName, string][] = [];
  const app = createApp({
    store,
    kick: { kick: (stage, partnerOrgId) => kicks.push([stage, partnerOrgId]) },
    limits: { ...LIMITS, ...parts.limits },
    signing: parts.signing ?? { secretKeys: [], windowMs: 300_000 },
    redis: parts.redis ?? { ping: async () => 'PONG' },
    log: parts.log ?? pino({ level: 'silent' }),
    ...(parts.lockCheck === undefined ? {} : { lockCheck: parts.lockCheck }),
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000 });
  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(server.url + path, init);
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : null,
    };
  };
  return {
    url: server.url,
    kicks,
    ask,
    as: (partner) => clientOf(ask, partner.key),
    close: () => server.close(0),
  };
}

function clientOf(ask: PartnerApi['ask'], key: string): PartnerClient {
  const authorization = `Bearer ${key}`;
  return {
    get: (path) => ask(path, { headers: { authorization } }),
    push: (body, request = {}) => {
      const identity = request.identity === undefined ? `identity-${++lastIdentity}` : request.identity;
      return ask(`/api/v1/pushes${request.query ?? ''}`, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          ...(identity === null ? {} : { 'idempotency-key': identity }),
          ...request.headers,
        },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      });
    },
  };
}

/** A body of one station with one bill a month, 100.00 each. */
export function stationOf(
  partnerStationNo: string,
  months: readonly string[],
  bill: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    partnerStationNo,
    bills: months.map((billYearMonth) => ({ billYearMonth, rent: '100.00', ...bill })),
  };
}
