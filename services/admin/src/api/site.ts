/** The API of the admin port: rights and answers (`docs/reference/openapi.json`). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  base,
  idempotencyHeader,
  operations,
  problemStatus,
  type AnswerOf,
  type BodyOf,
  type Operation,
  type OperationName,
  type Overview,
  type ProblemReason,
  type QueryOf,
} from '@omnibus/admin-api';
import { consoleMode, type Config, type ConsoleMode } from '@omnibus/config';
import {
  readMethods,
  maxSmallBodyBytes,
  readSmallBody,
  Routes,
  writeAnswer,
  type AdminAct,
  type AdminAnswer,
  type AdminSite,
} from '@omnibus/telemetry';
import type { z } from 'zod';
import { mayDo, type AdminRole } from '../roles.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import { actOf, RepeatedActs } from './repeated-acts.ts';
import { apiHeaders, refuseForeign } from './security.ts';

/** An admitted request. */
export interface ApiRequest<Name extends OperationName> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The parameters in the path, by their names in braces. */
  readonly given: string;
  readonly query: QueryOf<Name>;
  readonly body: BodyOf<Name>;
}

/** The handler of each operation; one that returns `undefined` has written its answer itself. */
export type Handlers = {
  readonly [Name in OperationName]: (asked: ApiRequest<Name>) => Promise<AnswerOf<Name> | undefined>;
};

interface ApiSiteOptions extends Pick<ApiOptions, 'config' | 'access' | 'metrics' | 'onFault'> {
  readonly handlers: Handlers;
}

/** The act that each operation needs permission for. The type demands a row for each. */
const acts: Readonly<Record<OperationName, AdminAct>> = {
  overview: 'console',
  processes: 'console',
  servers: 'console',
  server: 'console',
  logs: 'console',
  catalogue: 'console',
  tokens: 'console',
  connect: 'console',
  metrics: 'console',
  rates: 'console',
  openapi: 'console',
  sessions: 'sessions',
  session: 'sessions',
  configuration: 'configuration',
  policy: 'policy',
  explain: 'policy',
  sees: 'policy',
  audit: 'audit',
  auditRecord: 'audit',
  auditVerify: 'audit',
  calls: 'calls',
  call: 'calls',
  replay: 'calls',
  failures: 'calls',
  watch: 'console',
  try: 'try',
  tryEvents: 'try',
  tryAnswer: 'try',
  tryCancel: 'try',
  restart: 'restart',
  pause: 'blocks.change',
  resume: 'blocks.change',
  end: 'sessions.end',
  entry: 'servers.change',
  changeEntry: 'servers.change',
  connections: 'connections.list',
  revoke: 'connections.change',
  approvals: 'approvals.list',
  approval: 'approvals.list',
  decide: 'approvals.decide',
  withdrawVote: 'approvals.decide',
  grants: 'grants.own',
  requestGrant: 'grants.own',
  decideGrant: 'grants.change',
  endGrant: 'grants.own',
  labels: 'labels.list',
  clearLabel: 'labels.clear',
  definitions: 'definitions.list',
  serverDefinitions: 'definitions.list',
  approve: 'definitions.approve',
  forget: 'connections.change',
  whoami: 'whoami',
  reload: 'reload',
  keys: 'keys.list',
  makeKey: 'keys.change',
  revokeKey: 'keys.change',
  users: 'users.list',
  setUser: 'users.change',
  removeUser: 'users.change',
  agents: 'agents.list',
  makeAgent: 'agents.change',
  rotateAgent: 'agents.change',
  removeAgent: 'agents.change',
  programs: 'programs.list',
  revokeProgram: 'programs.revoke',
  signingKeys: 'signing-keys.list',
  rotateSigningKeys: 'signing-keys.rotate',
  blocks: 'blocks.list',
  block: 'blocks.change',
  unblock: 'blocks.change',
  usage: 'usage',
  vault: 'vault.status',
  rotateVault: 'vault.rotate',
  recovery: 'recovery',
  recover: 'recovery',
};

const routes = new Routes<OperationName>(
  Object.entries<Operation>(operations).map(([name, { method, path }]) => [
    method === 'get' ? readMethods : method.toUpperCase(),
    `${base}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    name as OperationName,
  ]),
);

export function apiSite(options: ApiSiteOptions): AdminSite {
  const repeated = new RepeatedActs();
  return {
    covers: (path) => path === '/api' || path.startsWith('/api/'),
    refusal: ({ text }) =>
      withHeaders(
        new ApiProblem(
          'host',
          text.trim(),
          'ask by an address or localhost, or name the host under security.allowedHosts',
        ).answer,
      ),
    serve: (request, response, path) => serve(options, repeated, request, response, path),
  };
}

/** @throws {ApiProblem} for a change that the option `console` does not permit. */
function refuseByMode(mode: ConsoleMode): void {
  if (mode === 'full') return;
  throw new ApiProblem(
    'mode',
    `the option \`console\` permits no such change here: it is ${mode}`,
    'set `console: full` where only this machine is listened on, or say under auth.admin.roles who may what (docs/reference/config.md)',
  );
}

async function serve(
  { config, access, metrics, handlers, onFault }: ApiSiteOptions,
  repeated: RepeatedActs,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  try {
    const { name, given } = routeOf(request, path);
    const operation: Operation = operations[name];
    const isChange = operation.method !== 'get';
    refuseForeign(request);
    if (operation.followsConsole === true) refuseByMode(consoleMode(config()));
    const refusal = await access.guard(request, path, acts[name]);
    if (refusal !== undefined) throw refused(refusal);
    const query = queryOf(name, request.url ?? '');
    const { maxBodyBytes = maxSmallBodyBytes } = operation;
    const body = isChange ? await readSmallBody(request, maxBodyBytes) : '';
    if (body === undefined) throw new ApiProblem('large', `what is sent here has at most ${maxBodyBytes / 1024} KiB`);
    const asked = { request, response, given, query, body: bodyOf(name, body) };
    // Query and body were parsed with the schemas of this operation, which its handler expects.
    const handler = handlers[name] as (asked: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly given: string;
      readonly query: unknown;
      readonly body: unknown;
    }) => Promise<unknown>;
    const act = async (): Promise<unknown> => {
      const done = await handler(asked);
      if (isChange) metrics.callers.adminActed(acts[name]);
      return done;
    };
    const { [idempotencyHeader]: key } = request.headers;
    const answer = await (isChange && key !== undefined && operation.isRepeatable !== false
      ? repeated.once(String(key), access.of(request).name, actOf(request, body), act)
      : act());
    if (answer !== undefined)
      writeAnswer(
        response,
        withHeaders({
          status: operation.status ?? 200,
          text: request.method === 'HEAD' ? '' : `${JSON.stringify(answer)}\n`,
          type: 'application/json',
        }),
      );
  } catch (error) {
    if (response.headersSent) throw error;
    if (!(error instanceof ApiProblem) && !(error instanceof Refusal)) onFault('a request to the API failed', error);
    const answer =
      error instanceof Refusal
        ? error.answer
        : (error instanceof ApiProblem ? error : new ApiProblem('failed', 'this failed; the log says why')).answer;
    writeAnswer(response, withHeaders(answer));
  }
}

function withHeaders(answer: AdminAnswer): AdminAnswer {
  return { ...answer, headers: { ...apiHeaders, ...answer.headers } };
}

function routeOf(
  { method = '' }: IncomingMessage,
  path: string,
): { readonly name: OperationName; readonly given: string } {
  const found = routes.find(method, path);
  switch (found.kind) {
    case 'route':
      return { name: found.to, given: Object.values(found.params)[0] ?? '' };
    case 'method':
      throw new ApiProblem('method', `${path.slice(0, 200)} takes ${found.allowed}`, undefined, found.allowed);
    case 'malformed':
      throw new ApiProblem('invalid', `the address is malformed: ${found.problem}`);
    case 'unknown':
      throw new ApiProblem('unknown', `there is no ${path.slice(0, 200)}`, `${base}/openapi.json says what there is`);
  }
}

function queryOf(name: OperationName, url: string): unknown {
  const { query } = operations[name] as Operation;
  const given = [...new URL(url, 'http://localhost').searchParams];
  const known = Object.keys(query?.shape ?? {});
  // A misspelt filter would be answered with everything.
  const stray = given.find(([parameter]) => !known.includes(parameter))?.[0];
  if (stray !== undefined)
    throw new ApiProblem(
      'invalid',
      `there is no parameter ${JSON.stringify(stray.slice(0, 100))} here`,
      known.length === 0 ? undefined : known.join(', '),
    );
  const twice = given.find(([parameter], index) => given.findIndex(([other]) => other === parameter) !== index)?.[0];
  if (twice !== undefined) throw new ApiProblem('invalid', `${twice}: expected once`);
  return query === undefined ? {} : readShape(query, Object.fromEntries(given), '');
}

/** @throws {ApiProblem} for a change that does not fit its schema; a change without a body may have any. */
function bodyOf(name: OperationName, text: string): unknown {
  const { body } = operations[name] as Operation;
  if (body === undefined) return undefined;
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw new ApiProblem('invalid', 'this change carries a JSON object', `${base}/openapi.json describes it`);
  }
  return readShape(body, said, 'the body');
}

/** @param whole names the value in the problem. @throws {ApiProblem} if it does not fit the schema. */
function readShape<Value>(schema: z.ZodType<Value>, value: unknown, whole: string): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ApiProblem(
    'invalid',
    parsed.error.issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`).join('; '),
  );
}

/** A refusal of the port's guard as a problem of the API, with its challenge. */
class Refusal extends Error {
  readonly answer: AdminAnswer;

  constructor(answer: AdminAnswer) {
    super(answer.text);
    this.answer = answer;
  }
}

function refused({ status, text, headers }: AdminAnswer): Refusal {
  const reason: ProblemReason =
    status === 401 ? 'unauthenticated' : status === 503 ? 'starting' : status === 400 ? 'invalid' : 'forbidden';
  const { answer } = new ApiProblem(reason, text.trim());
  return new Refusal({ ...answer, status: problemStatus[reason], ...(headers === undefined ? {} : { headers }) });
}

const hasOwnServer = ({ auth }: Config): boolean => auth !== undefined && auth !== 'none' && auth.server !== undefined;

const hasAgents = ({ auth }: Config): boolean =>
  auth !== undefined && auth !== 'none' && auth.server?.agents !== undefined;

/** The rights of the caller, so that the page can leave out buttons that would be refused. */
export function rightsOf(config: Config, roles: readonly AdminRole[], who: string): Overview['console'] {
  const mode = consoleMode(config) === 'full' ? 'full' : 'read';
  const mayAct = mayDo('restart', roles);
  return {
    mode,
    who,
    roles: [...roles],
    mayChange: mode === 'full' && mayAct,
    mayWatch: mayAct,
    mayPayloads: mode === 'full' && mayAct && config.console.payloads,
    mayPolicy: mayDo('policy', roles),
    mayAudit: mayDo('audit', roles),
    maySeeKeys: mayDo('keys.list', roles),
    mayKeys: mayDo('keys.change', roles),
    maySeePrograms: mayDo('programs.list', roles) && hasOwnServer(config),
    mayPrograms: mayDo('programs.revoke', roles),
    maySeeAgents: mayDo('agents.list', roles),
    hasAgents: hasAgents(config),
    mayAgents: mayDo('agents.change', roles),
    mayBlock: mayDo('blocks.change', roles),
    maySeeLabels: mayDo('labels.list', roles),
    mayEdit: mode === 'full' && mayDo('servers.change', roles) && config.bus === 'memory' ? config.console.edit : 'no',
    isAudited: config.audit !== undefined,
  };
}
