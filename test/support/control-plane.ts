/** A control plane over real HTTP, on the test's database, and someone who asks it things. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { pino } from 'pino';
import { type ControlDependencies, createControlRouter } from '../../src/control/router.ts';
import type { StageName } from '../../src/domain/stage.ts';
import { answerErrors, answerUnknownRoutes } from '../../src/http/answer-errors.ts';
import type { SlotKey } from '../../src/store/slots.ts';
import type { Sql } from '../../src/store/sql.ts';
import type { Engine } from '../../src/tasks/engine.ts';
import type { Wake } from '../../src/tasks/kick.ts';
import type { StageHandler } from '../../src/tasks/stage-handler.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';

export const ADMIN_TOKEN = 'test-admin-token-0123456789';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has; each test looks at what it is about
  readonly body: any;
}

export interface ControlPlane {
  readonly url: string;
  /** As the bearer of the admin token, in JSON; `init` wins. */
  ask(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer>;
  /** As it is: no token, no content type, no redirect followed. */
  askBare(path: string, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

type Parts = Pick<ControlDependencies, 'engine'> & Partial<ControlDependencies>;

/** With the test's admin token and no queues, unless said otherwise. */
export async function startControlPlane(needs: Parts): Promise<ControlPlane> {
  const app = express();
  app.use('/admin', createControlRouter({ adminToken: ADMIN_TOKEN, boardQueues: [], ...needs }));
  app.use(answerUnknownRoutes(), answerErrors(pino({ level: 'silent' })));
  const server: Server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const askBare = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(url + path, { redirect: 'manual', ...init });
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
    url,
    askBare,
    ask: (method, path, body, init = {}) =>
      askBare(`/admin/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...init,
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface AuditRow {
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was kept
  readonly before: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was kept
  readonly after: any;
  readonly reason: string | null;
}

/** In the order in which they were written. */
export async function listAudit(sql: Sql): Promise<AuditRow[]> {
  return sql.many(
    `SELECT actor, action, target, before_state \`before\`, after_state \`after\`, reason
       FROM operation_audit ORDER BY id`,
  );
}

/** A worker in the test's own process: whoever is kicked takes a turn at once. */
export class WorkingWake implements Wake {
  #work: ((slot: SlotKey) => Promise<unknown>) | null = null;
  #turns: Promise<unknown>[] = [];
  readonly kicks: string[] = [];

  /** From now on; before, a kick is lost. */
  workWith(engine: Engine, handler: StageHandler): void {
    this.#work = (slot) => takeTurn(engine, handler, slot, { contended: false });
  }

  kick(stage: StageName, partnerOrgId: string): void {
    this.kicks.push(`${stage}/${partnerOrgId}`);
    const turn = this.#work?.({ stage, partnerOrgId, slotNo: 1 });
    if (turn !== undefined) this.#turns.push(turn);
  }

  async wakeSlot(): Promise<void> {}

  async wakeSlotAtFence(): Promise<void> {}

  /** Until every turn that was kicked off has ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#turns.splice(0));
  }
}
