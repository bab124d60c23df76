/**
 * `/admin/openapi.json`: the operators' API, made from the schemas that validate (ING-10). One line of this table an
 * operation; a test walks the routes that are registered and holds them against it, both ways.
 */
import { z } from 'zod';
import { type Json, jsonSchema, paging, pathParameter, query, ref, reply } from '../http/openapi-parts.ts';
import { problemSchema } from '../http/reply-schemas.ts';
import { fullRefreshBody } from './ask-full-refresh.ts';
import { changePartnerBody } from './change-partner.ts';
import { platformBillsBody } from './change-platform-bills.ts';
import { signingBody } from './change-signing.ts';
import { newCredentialBody } from './create-credential.ts';
import { newPartnerBody } from './create-partner.ts';
import { newSnapshotsBody } from './create-snapshots.ts';
import { auditResultBody, orderCreatorBody, paymentResultsBody, voidOrderBody } from './payment-orders.ts';
import {
  cancelSessionBody,
  openSessionBody,
  selectBillsBody,
  submitSessionBody,
} from './payment-sessions.ts';
import { stationMappingBody } from './put-station-mapping.ts';
import { lockReleaseBody } from './release-locks.ts';
import { runTasksBody } from './run-tasks.ts';
import { COOKIE_NAME } from './session.ts';
import { cancelTaskBody, emptyBody } from './steer-task.ts';
import { verificationsBody } from './verify-bills.ts';

interface Operation {
  readonly id: string;
  readonly summary: string;
  /** The status of the answer that is a success. */
  readonly status: number;
  readonly body?: z.ZodType;
  /** Filters of a list; every list is paged. */
  readonly filters?: readonly string[];
}

const list = (id: string, summary: string, ...filters: string[]): Operation => ({
  id,
  summary,
  status: 200,
  filters,
});
const show = (id: string, summary: string): Operation => ({ id, summary, status: 200 });
const command = (id: string, summary: string, body: z.ZodType, status = 200): Operation => ({
  id,
  summary,
  status,
  body,
});

/** `METHOD /path`, under `/admin/api/v1`; the first part of the path is the tag. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /tasks': list(
    'listTasks',
    'Tasks, newest first',
    ...['type', 'status', 'partnerOrgId', 'code', 'businessKey', 'stage', 'pushId'],
  ),
  'GET /tasks/{code}': show('showTask', 'A task with its data, result and trace'),
  'POST /tasks/run': command('runTasks', 'Run named tasks at once, and say how each ended', runTasksBody),
  'POST /tasks/{code}/stop': command('stopTask', 'Stop at the next boundary', emptyBody),
  'POST /tasks/{code}/resume': command('resumeTask', 'Let a stopped task go on', emptyBody),
  'POST /tasks/{code}/cancel': command(
    'cancelTask',
    'Give up a task that is not running, for good',
    cancelTaskBody,
  ),
  'GET /stages': show('listStages', 'The stages with what waits, runs and failed'),
  'POST /stages/{name}/pause': command('pauseStage', 'Begin nothing more at a stage', emptyBody),
  'POST /stages/{name}/resume': command('resumeStage', 'Go on at a stage', emptyBody),
  'GET /partners': list('listPartners', 'Partners, by id'),
  'POST /partners': command('createPartner', 'A partner with its slots', newPartnerBody, 201),
  'GET /partners/{partnerOrgId}': show('showPartner', 'A partner with its terms and caps'),
  'PUT /partners/{partnerOrgId}': command(
    'changePartner',
    'Pause, caps, payment flow, tolerance',
    changePartnerBody,
  ),
  'GET /partners/{partnerOrgId}/credentials': show('listCredentials', 'Which keys a partner has and had'),
  'POST /partners/{partnerOrgId}/credentials': command(
    'createCredential',
    'A key, shown once; with `signing` also a secret to sign requests with',
    newCredentialBody,
    201,
  ),
  'POST /partners/{partnerOrgId}/credentials/{id}/signing': command(
    'changeSigning',
    'Whether requests with this key may or must be signed',
    signingBody,
  ),
  'POST /partners/{partnerOrgId}/credentials/{id}/revoke': command(
    'revokeCredential',
    'At once and for good',
    emptyBody,
  ),
  'GET /station-mappings': list(
    'listStationMappings',
    'Which station of a partner is which of ours',
    ...['partnerOrgId', 'partnerStationNo', 'platformStationId', 'incomplete'],
  ),
  'POST /station-mappings': command('putStationMapping', 'Make or change a mapping', stationMappingBody),
  'GET /slots': list('listSlots', 'Who may work for whom', 'stage', 'partnerOrgId', 'held'),
  'GET /guards': list(
    'listGuards',
    'The rows that serialise what is written about a station',
    ...['kind', 'partnerOrgId', 'platformStationId'],
  ),
  'GET /leases': list('listLeases', 'Who is at work on which station at this moment'),
  'GET /pushes': list('listAnyPushes', 'Pushes of all partners', 'partnerOrgId', 'code', 'idempotencyKey'),
  'GET /differences': list(
    'listDifferences',
    'The difference ledger',
    ...['partnerOrgId', 'platformStationId', 'billYearMonth', 'status'],
  ),
  'GET /platform-bills': list(
    'listPlatformBills',
    'Our own bills',
    ...['partnerOrgId', 'platformStationId', 'billYearMonth', 'deleted'],
  ),
  'POST /platform-bills': command(
    'changePlatformBills',
    'Make, change and delete our own bills',
    platformBillsBody,
  ),
  'GET /accounts': list(
    'listAccounts',
    'Accounts with their totals: the partner side; with side=PLATFORM ours, by platformStationId',
    ...['side', 'partnerOrgId', 'partnerStationNo'],
  ),
  'GET /snapshots': list(
    'listSnapshots',
    'The read model that payment selects from',
    ...['partnerOrgId', 'platformStationId', 'billYearMonth', 'paymentStatus'],
  ),
  'POST /snapshots': command('createSnapshots', 'Make the rows that are missing', newSnapshotsBody, 202),
  'GET /locks': list(
    'listLocks',
    'Bill locks',
    ...['partnerOrgId', 'platformStationId', 'billYearMonth', 'lockStatus'],
  ),
  'POST /lock-releases': command('releaseLocks', 'Let go what a submit or order holds', lockReleaseBody, 202),
  'POST /full-refreshes': command('askFullRefresh', 'Refresh all months of a partner', fullRefreshBody, 202),
  'POST /verifications': command('verifyBills', 'Verdicts on bills', verificationsBody),
  'GET /payment-sessions': list('listSessions', 'Selection sessions', 'partnerOrgId', 'status'),
  'POST /payment-sessions': command('openSession', 'Begin to choose bills', openSessionBody, 201),
  'GET /payment-sessions/{id}': show('showSession', 'A session with what is chosen'),
  'POST /payment-sessions/{id}/bills': command(
    'selectBills',
    'Choose bills by month or by id',
    selectBillsBody,
  ),
  'POST /payment-sessions/{id}/submit': command(
    'submitSession',
    'Build and publish the order',
    submitSessionBody,
    202,
  ),
  'POST /payment-sessions/{id}/cancel': command('cancelSession', 'Give the session up', cancelSessionBody),
  'GET /payment-orders': list('listOrders', 'Payment orders', 'partnerOrgId', 'status'),
  'GET /payment-orders/{id}': show('showOrder', 'An order with its versions'),
  'GET /payment-orders/{id}/bills': list('listOrderBills', 'The bills of a version', 'paymentOrderVersionId'),
  'POST /payment-orders/{id}/audit-results': command(
    'takeAuditResult',
    'What the audit said',
    auditResultBody,
  ),
  'POST /payment-orders/{id}/payment-results': command(
    'takePaymentResults',
    'What was paid',
    paymentResultsBody,
  ),
  'POST /payment-orders/{id}/void': command('voidOrder', 'Give an unpaid order up', voidOrderBody),
  'POST /payment-orders/{id}/creator': command(
    'handOverOrder',
    'Who is responsible for it',
    orderCreatorBody,
  ),
  'POST /inspections': command(
    'startInspection',
    'Inspect now; it reads and repairs nothing',
    emptyBody,
    201,
  ),
  'GET /inspections/{runId}': show('showInspection', 'A run with its rules'),
  'GET /findings': list('listFindings', 'What the latest or a named run found', 'runId', 'rule'),
  'GET /retention': show('showRetention', 'Whether old rows are being removed, and by whom'),
  'POST /retention/pause': command('pauseRetention', 'Remove nothing more', emptyBody),
  'POST /retention/resume': command('resumeRetention', 'Go on removing', emptyBody),
  'GET /operations': list('listOperations', 'Who changed what', 'actor', 'action', 'target'),
};

const listSchema = z.looseObject({
  items: z.array(z.looseObject({})),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'Send it as `cursor`; null: this was the last page.' }),
});

export function adminOpenApiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method, path] = route.split(' ') as [string, string];
    paths[`/admin/api/v1${path}`] ??= {};
    paths[`/admin/api/v1${path}`]![method.toLowerCase()] = describe(path, operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Rooftally operators’ API',
      version: '1',
      description:
        'Every change is kept in the operation audit, with who, what, before and after. A query parameter that is not described is refused.',
    },
    servers: [{ url: '/' }],
    security: [{ adminToken: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        adminToken: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: COOKIE_NAME },
      },
      schemas: {
        List: jsonSchema(listSchema),
        Answer: { type: 'object', additionalProperties: true },
        Problem: jsonSchema(problemSchema),
      },
    },
  };
}

function describe(path: string, { id, summary, status, body, filters }: Operation): Json {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!));
  const filtered =
    filters === undefined ? [] : [...filters.map((name) => query(name, 'Only those.')), ...paging()];
  const parameters = [...named, ...filtered];
  return {
    operationId: id,
    summary,
    tags: [path.split('/')[1]],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { content: { 'application/json': { schema: jsonSchema(body) } } } }),
    responses: {
      [status]: reply('Done.', filters === undefined ? 'Answer' : 'List'),
      default: {
        description:
          'Refused: 400 unreadable or not known, 401 not signed in, 403 not allowed, 404 not there, 409 in conflict, 422.',
        content: { 'application/problem+json': { schema: ref('Problem') } },
      },
    },
  };
}
