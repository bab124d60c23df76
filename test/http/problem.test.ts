import { expect } from 'chai';
import { BusyError, Failure, FencedOutError } from '../../src/errors.ts';
import { Problem, problemHead, toProblem } from '../../src/http/problem.ts';

const driverError = (code: string) => Object.assign(new Error(code), { code, fatal: true });
const clientFault = (status: number) => Object.assign(new Error('the message of a parser'), { status });

describe('anything thrown, as a problem', () => {
  const table: [what: string, thrown: unknown, status: number, code: string][] = [
    ['a problem', new Problem(404, 'NO_SUCH_PUSH', 'x'), 404, 'NO_SUCH_PUSH'],
    ['a refused connection', driverError('ECONNREFUSED'), 503, 'DATABASE_UNAVAILABLE'],
    ['a lost connection', driverError('PROTOCOL_CONNECTION_LOST'), 503, 'DATABASE_UNAVAILABLE'],
    [
      'a lost connection, wrapped',
      new Error('x', { cause: driverError('ECONNRESET') }),
      503,
      'DATABASE_UNAVAILABLE',
    ],
    ['a full server', driverError('ER_CON_COUNT_ERROR'), 503, 'DATABASE_UNAVAILABLE'],
    ['something busy', new BusyError('x'), 503, 'BUSY'],
    ['a parser’s fault', clientFault(400), 400, 'MALFORMED_REQUEST'],
    ['a parser’s limit', clientFault(413), 413, 'BODY_TOO_LARGE'],
    [
      'a business failure',
      new Failure('NO_PLATFORM_STATION', 'x', { retryable: false }),
      409,
      'NO_PLATFORM_STATION',
    ],
    ['a failure that may pass', new Failure('SOMETHING', 'x'), 500, 'INTERNAL'],
    ['a lost right', new FencedOutError('x'), 500, 'INTERNAL'],
    ['an error', new TypeError('x is not a function'), 500, 'INTERNAL'],
    ['a text', 'oops', 500, 'INTERNAL'],
    ['nothing', undefined, 500, 'INTERNAL'],
  ];
  for (const [what, thrown, status, code] of table) {
    it(`ING-10 ${what}: ${status} ${code}`, () => {
      const problem = toProblem(thrown);
      expect([problem.status, problem.code]).to.deep.equal([status, code]);
    });
  }

  it('ING-10 what comes again may come again: 503 has Retry-After', () => {
    expect(Number(toProblem(driverError('ECONNREFUSED')).headers['Retry-After'])).to.be.greaterThan(0);
    expect(Number(toProblem(new BusyError('x')).headers['Retry-After'])).to.be.greaterThan(0);
  });

  it('ING-10 a fault of ours tells its trace, not itself', () => {
    const problem = toProblem(new Error('SELECT secret FROM partner'));
    expect(JSON.stringify(problemHead(problem, 'abc')))
      .to.contain('"traceId":"abc"')
      .and.not.contain('secret');
  });

  it('ING-10 has the members of RFC 9457 and a stable code', () => {
    const head = problemHead(
      new Problem(422, 'TOTALS_MISMATCH', 'Correct …', { members: { mismatches: [] } }),
      'abc',
    );
    expect(head).to.deep.equal({
      type: 'urn:rooftally:problem:totals-mismatch',
      title: 'Understood, and refused',
      status: 422,
      code: 'TOTALS_MISMATCH',
      detail: 'Correct …',
      traceId: 'abc',
      mismatches: [],
    });
  });
});
