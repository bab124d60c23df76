/** `/openapi.json`: the partner API, made from the schemas that validate (ING-10); what operators have is in `src/control`. */
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { billLinesSchema, pushSchema, stationLinesSchema, TOTAL_FIELDS } from '../domain/pushed-fields.ts';
import {
  header,
  type Json,
  jsonSchema,
  paging,
  pathParameter,
  problems,
  query,
  ref,
  reply,
} from './openapi-parts.ts';
import {
  acceptedPushSchema,
  completenessSchema,
  coverageSchema,
  dryRunSchema,
  problemSchema,
  pushListSchema,
  rowTracesSchema,
  statusSchema,
} from './reply-schemas.ts';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Push: pushSchema,
  StationLines: stationLinesSchema,
  BillLines: billLinesSchema,
  AcceptedPush: acceptedPushSchema,
  DryRun: dryRunSchema,
  Coverage: coverageSchema,
  RowTraces: rowTracesSchema,
  PushList: pushListSchema,
  Completeness: completenessSchema,
  Problem: problemSchema,
  Status: statusSchema,
};

export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Rooftally partner API',
      version: '1',
      description:
        'Partners push each month’s household income bills, and see what became of every one. 202 means that the accepted rows are committed; never that bills are written. A query parameter that is not described is refused.',
    },
    servers: [{ url: '/' }],
    security: [{ partnerKey: [] }],
    tags: [
      { name: 'pushes', description: 'Bills, and what became of them.' },
      { name: 'operation', description: 'Whether it is there.' },
    ],
    paths: {
      '/api/v1/pushes': { post: postPush(), get: listPushes() },
      '/api/v1/pushes/{pushId}': { get: getPush() },
      '/api/v1/pushes/{pushId}/bills': { get: listBills() },
      '/api/v1/completeness': { get: getCompleteness() },
      '/healthz': { get: getHealth() },
      '/readyz': { get: getReadiness() },
    },
    components: {
      securitySchemes: {
        partnerKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The partner’s key. A key may ask for signed requests as well, or insist on them: HTTP Message Signatures (RFC 9421), hmac-sha256.',
        },
      },
      schemas: Object.fromEntries(
        Object.entries(SCHEMAS).map(([name, schema]) => [name, jsonSchema(schema)]),
      ),
    },
  };
}

export function serveOpenApi(document: Json): RequestHandler {
  const text = JSON.stringify(document);
  return (_request, response) => {
    response.type('json').send(text);
  };
}

function postPush(): Json {
  return {
    operationId: 'postPush',
    tags: ['pushes'],
    summary: 'Send bills',
    parameters: [
      header(
        'Idempotency-Key',
        'A name of your own for this push, the same when you send it again. Required, or its alias.',
      ),
      header('X-Request-Id', 'Alias of Idempotency-Key.'),
      header('Content-Digest', 'RFC 9530, sha-256, of the body as it is sent. Compared at its last byte.'),
      ...signature(),
      header('traceparent', 'W3C; its trace becomes the push’s, and that of all that follows.'),
      query('dryRun', 'Check and answer, store nothing.', { type: 'boolean', default: false }),
      query('strict', 'False: unknown fields are ignored and counted.', { type: 'boolean', default: true }),
      query(
        'totalCount',
        'Control total: how many bills. Beside JSON it may be in the body instead.',
        jsonSchema(TOTAL_FIELDS.totalCount.schema),
      ),
      query('totalAmount', 'Control total: the sum of rent. Beside JSON it may be in the body instead.', {
        ...jsonSchema(TOTAL_FIELDS.totalAmount.schema),
        type: 'string',
      }),
      {
        ...header(
          'Content-Encoding',
          'How the body is packed. The limit on bytes is on what it unzips into.',
        ),
        schema: { enum: ['identity', 'gzip'], default: 'identity' },
      },
    ],
    requestBody: pushBody(),
    responses: {
      200: reply('A dry run: what would have been said.', 'DryRun'),
      202: {
        ...reply('Accepted, in whole or in part, or a repeat of what was accepted before.', 'AcceptedPush'),
        headers: {
          'Idempotency-Replayed': { schema: { const: 'true' }, description: 'Only on a repeat.' },
          Location: { schema: { type: 'string' } },
        },
      },
      ...problems({
        400: 'No identity, or two; a body or query that cannot be read; a query parameter that is not known.',
        401: 'No live key, or a signature that is missing or does not hold.',
        408: 'The body did not arrive in time.',
        409: 'A push of the same identity is being accepted right now.',
        413: 'Over a limit, which is named.',
        415: 'Not a format that is read.',
        422: 'Totals that do not add up, an identity used for other content, or not one row accepted.',
        429: 'Too many pushes a minute.',
        503: 'The database is out of reach; nothing was done.',
      }),
    },
  };
}

/** Lines are described as an array of them, which is how later versions of OpenAPI read such media types. */
function pushBody(): Json {
  return {
    required: true,
    content: {
      'application/json': { schema: ref('Push') },
      'application/x-ndjson': {
        schema: { ...ref('StationLines'), description: 'One station a line. Blank lines are ignored.' },
        example:
          '{"partnerStationNo":"A-17","bills":[{"billYearMonth":"2026-10","rent":"120.00"}]}\n{"partnerStationNo":"A-18","bills":[]}\n',
      },
      'text/csv': {
        schema: {
          ...ref('BillLines'),
          description:
            'RFC 4180 in UTF-8: a header line with these names in any order, then one bill a line. An empty cell is an absent value.',
        },
        example: 'partnerStationNo,billYearMonth,rent\r\nA-17,2026-10,120.00\r\n',
      },
    },
  };
}

function listPushes(): Json {
  return {
    operationId: 'listPushes',
    tags: ['pushes'],
    summary: 'Own pushes, newest first',
    parameters: [query('idempotencyKey', 'Only those of this identity.'), ...paging(), ...signature()],
    responses: {
      200: reply('A page.', 'PushList'),
      ...problems({
        400: 'A malformed query, or a parameter that is not known.',
        401: 'No live key, or a signature that is missing or does not hold.',
      }),
    },
  };
}

function getPush(): Json {
  return {
    operationId: 'getPush',
    tags: ['pushes'],
    summary: 'What became of a push, in rows and in money',
    parameters: [pathParameter('pushId'), ...signature()],
    responses: {
      200: reply('As of one instant.', 'Coverage'),
      ...problems({
        400: 'A query parameter: none is known here.',
        401: 'No live key, or a signature that is missing or does not hold.',
        404: 'No push of yours.',
      }),
    },
  };
}

function listBills(): Json {
  return {
    operationId: 'listBills',
    tags: ['pushes'],
    summary: 'Each pushed bill and what became of it',
    parameters: [
      pathParameter('pushId'),
      query('place', 'Only rows in this place.'),
      ...paging(),
      ...signature(),
    ],
    responses: {
      200: reply('A page, in row order.', 'RowTraces'),
      ...problems({
        400: 'A malformed query, or a parameter that is not known.',
        401: 'No live key, or a signature that is missing or does not hold.',
        404: 'No push of yours.',
        410: 'Its rows were removed; what they came to is kept.',
      }),
    },
  };
}

function getCompleteness(): Json {
  const shown = { type: 'string', enum: ['missing', 'received', 'all'], default: 'missing' };
  return {
    operationId: 'getCompleteness',
    tags: ['pushes'],
    summary: 'The stations that should have sent a month’s bills, against those that did',
    parameters: [
      { ...query('month', 'YYYY-MM', { type: 'string' }), required: true },
      query('show', 'Which of them are listed.', shown),
      ...paging(),
      ...signature(),
    ],
    responses: {
      200: reply('Sums and a page.', 'Completeness'),
      ...problems({
        400: 'A malformed query, or a parameter that is not known.',
        401: 'No live key, or a signature that is missing or does not hold.',
      }),
    },
  };
}

function getHealth(): Json {
  return {
    operationId: 'getHealth',
    tags: ['operation'],
    summary: 'The process answers',
    security: [],
    responses: { 200: reply('It does.', 'Status') },
  };
}

function getReadiness(): Json {
  return {
    operationId: 'getReadiness',
    tags: ['operation'],
    summary: 'It can work: database and Redis answer in time',
    security: [],
    responses: { 200: reply('Both do.', 'Status'), 503: reply('One does not; it is named.', 'Status') },
  };
}

const signature = (): Json[] => [
  header('Signature-Input', 'RFC 9421: what is signed, when, with which nonce and key.'),
  header('Signature', 'RFC 9421: the HMAC-SHA-256 of it.'),
];
