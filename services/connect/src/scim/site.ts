/**
 * SCIM 2.0 (RFC 7644) for the directories of `auth.scim`: providers such as Entra ID and Okta keep users and groups up to date here. The secret of a request
 * says which directory it is about, so that no provider sees the users of another.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Audit } from '@omnibus/audit';
import type { Directory, StoredGroup } from '@omnibus/bus';
import type { Site } from '@omnibus/edge';
import { directoryKeyOf, type DirectorySettings } from '@omnibus/identity';
import { TokenBuckets } from '@omnibus/lifecycle';
import {
  basePathOf,
  isObject,
  parseJson,
  pathBelow,
  type DirectoryGroup,
  type DirectoryUser,
  type JsonObject,
} from '@omnibus/protocol';
import { readMethods, readSmallBody, Routes, type Logger, type Metrics } from '@omnibus/telemetry';
import { isConflict } from '@omnibus/bus';
import { Desk, tagOf, type DeskOptions } from './desk.ts';
import { documentAt, errorSchema, schemaOf } from './documents.ts';
import { filterIn, isGroup, isUser, listed, pageOf, selected, shownBy, type Resource } from './lists.ts';
import type { Of } from './of.ts';
import { ScimProblem } from './problem.ts';
import { ScimRecords } from './records.ts';

export interface ScimSiteOptions {
  readonly directories: readonly (DirectorySettings & { readonly token: readonly string[] })[];
  readonly publicUrl: string;
  readonly directory: Directory;
  readonly blocks: DeskOptions['blocks'];
  readonly takeBack: DeskOptions['takeBack'];
  readonly forget: DeskOptions['forget'];
  /** Undefined where nothing is recorded. */
  readonly audit: Pick<Audit, 'record'> | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
}

interface Visit {
  readonly of: Of;
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}
type Step = (visit: Visit) => Promise<Answer> | Answer;

const root = '/scim/v2';
/** A group of ten thousand members has about half of it. */
const maxBodyBytes = 1024 * 1024;
/** Requests of one directory: providers send up to 25 a second, and obey 429. */
const pace = { burst: 500, everyMs: 20, maxNames: 200 };
/** Wrong secrets from one address. */
const guesses = { burst: 20, everyMs: 1_000, maxNames: 10_000 };

export class ScimSite implements Site {
  readonly #options: ScimSiteOptions;
  readonly #base: string;
  /** Digests of secrets, and the directory of each. */
  readonly #secrets: readonly { readonly digest: Buffer; readonly of: Omit<Of, 'address'> }[];
  readonly #desk: Desk;
  readonly #records: ScimRecords;
  readonly #pace = new TokenBuckets(pace);
  readonly #guesses = new TokenBuckets(guesses);
  readonly #routes: Routes<Step>;

  constructor(options: ScimSiteOptions) {
    this.#options = options;
    this.#base = basePathOf(options.publicUrl);
    const records = new ScimRecords(options.audit);
    this.#records = records;
    this.#desk = new Desk({ ...options, records });
    this.#secrets = options.directories.flatMap(({ token, ...settings }) =>
      token.map((each) => ({ digest: digestOf(each), of: { ...settings, key: directoryKeyOf(settings) } })),
    );
    const desk = this.#desk;
    const document: Step = ({ params: { id }, request }) => this.#document(request.url ?? '/', id);
    this.#routes = new Routes<Step>([
      ...['ServiceProviderConfig', 'ResourceTypes', 'Schemas'].map(
        (name) => [readMethods, `${root}/${name}`, document] as const,
      ),
      ...['ResourceTypes', 'Schemas'].map((name) => [readMethods, `${root}/${name}/:id`, document] as const),
      [readMethods, `${root}/Users`, ({ of, query }) => this.#listUsers(of, query)],
      [
        'POST',
        `${root}/Users`,
        async (visit) => this.#user(visit, await desk.createUser(visit.of, await bodyOf(visit)), 201),
      ],
      [readMethods, `${root}/Users/:id`, async (visit) => this.#user(visit, await desk.user(visit.of, idIn(visit)))],
      ['PUT', `${root}/Users/:id`, async (visit) => this.#changeUser(visit, { replace: await bodyOf(visit) })],
      ['PATCH', `${root}/Users/:id`, async (visit) => this.#changeUser(visit, { patch: await bodyOf(visit) })],
      [
        'DELETE',
        `${root}/Users/:id`,
        async (visit) => desk.deleteUser(visit.of, idIn(visit), matchOf(visit)).then(() => nothing),
      ],
      [readMethods, `${root}/Groups`, ({ of, query }) => this.#listGroups(of, query)],
      [
        'POST',
        `${root}/Groups`,
        async (visit) => this.#group(visit, await desk.createGroup(visit.of, await bodyOf(visit)), 201),
      ],
      [readMethods, `${root}/Groups/:id`, async (visit) => this.#group(visit, await desk.group(visit.of, idIn(visit)))],
      ['PUT', `${root}/Groups/:id`, async (visit) => this.#changeGroup(visit, { replace: await bodyOf(visit) })],
      ['PATCH', `${root}/Groups/:id`, async (visit) => this.#changeGroup(visit, { patch: await bodyOf(visit) })],
      [
        'DELETE',
        `${root}/Groups/:id`,
        async (visit) => desk.deleteGroup(visit.of, idIn(visit), matchOf(visit)).then(() => nothing),
      ],
    ]);
  }

  handles(path: string): boolean {
    const below = this.#below(path);
    return below !== undefined && (below === root || below.startsWith(`${root}/`));
  }

  handle(request: IncomingMessage, response: ServerResponse, address: string): void {
    const { metrics } = this.#options;
    const [, , , resource = ''] = this.#below(request.url ?? '/')?.split('/') ?? [];
    this.#answer(request, address)
      .catch((error: unknown) => refused(this.#problemOf(error)))
      .then((answer) => {
        metrics.callers.scimAsked(resource, answer.status);
        send(response, request, answer);
      })
      .catch(() => response.destroy());
  }

  #below(path: string): string | undefined {
    const [plain = ''] = path.split('?');
    return pathBelow(plain.replace(/\/$/, ''), this.#base);
  }

  async #answer(request: IncomingMessage, address: string): Promise<Answer> {
    const of = this.#directoryOf(request, address);
    const wait = this.#pace.take(of.key);
    if (wait > 0) throw new ScimProblem(429, 'too many requests at once: ask again later', undefined, wait);
    const path = this.#below(request.url ?? '/') ?? '/';
    const found = this.#routes.find(request.method ?? '', path);
    if (found.kind === 'method')
      return {
        ...refused(new ScimProblem(405, `this address takes ${found.allowed}`)),
        headers: { allow: found.allowed },
      };
    if (found.kind !== 'route') throw new ScimProblem(404, `${path.slice(0, 200)} is no address of this API`);
    const [, query = ''] = (request.url ?? '/').split('?', 2);
    try {
      return await found.to({ of, request, params: found.params, query: new URLSearchParams(query) });
    } catch (error) {
      const problem = this.#problemOf(error);
      const { method = '' } = request;
      if (!readMethods.includes(method)) this.#records.refused(of, method, path.slice(root.length), problem);
      return refused(problem);
    }
  }

  #directoryOf({ headers: { authorization = '' } }: IncomingMessage, address: string): Of {
    const [, token] = /^bearer +(\S{1,1000})$/i.exec(authorization) ?? [];
    const digest = token === undefined ? undefined : digestOf(token);
    const found = digest === undefined ? undefined : this.#secrets.find((each) => timingSafeEqual(each.digest, digest));
    if (found !== undefined) return { ...found.of, address };
    const wait = this.#guesses.take(address);
    if (wait > 0) throw new ScimProblem(429, 'too many wrong secrets from this address', undefined, wait);
    this.#records.unknown(address, token !== undefined);
    throw new ScimProblem(401, 'send the secret of the directory (auth.scim) as "Authorization: Bearer"');
  }

  #problemOf(error: unknown): ScimProblem {
    if (error instanceof ScimProblem) return error;
    if (isConflict(error))
      return new ScimProblem(409, 'the same entry is being changed by other requests: send it again');
    this.#options.log.error({ err: error }, 'a request of a directory could not be served');
    return new ScimProblem(503, 'this cannot be stored now; the log of the gateway says why', undefined, 5);
  }

  #document(url: string, id: string | undefined): Answer {
    const name =
      this.#below(url)
        ?.slice(root.length + 1)
        .split('/')[0] ?? '';
    const body = documentAt(this.#root, name, id);
    if (body === undefined) throw new ScimProblem(404, `there is no ${name} of this name`);
    return { status: 200, body };
  }

  get #root(): string {
    return `${this.#options.publicUrl}${root}`;
  }

  async #changeUser(visit: Visit, change: Parameters<Desk['changeUser']>[2]): Promise<Answer> {
    return this.#user(visit, await this.#desk.changeUser(visit.of, idIn(visit), change, matchOf(visit)));
  }

  async #changeGroup(visit: Visit, change: Parameters<Desk['changeGroup']>[2]): Promise<Answer> {
    return this.#group(visit, await this.#desk.changeGroup(visit.of, idIn(visit), change, matchOf(visit)));
  }

  #user(
    { of, query }: Visit,
    { entry, revision }: { readonly entry: DirectoryUser; readonly revision: number },
    status = 200,
  ): Answer {
    return this.#resource(this.#userResource(of, entry, revision), shownBy(query), status);
  }

  #group(
    { of, query }: Visit,
    { entry, revision }: { readonly entry: DirectoryGroup; readonly revision: number },
    status = 200,
  ): Answer {
    const isShown = shownBy(query);
    return this.#resource(this.#groupResource(of, entry, revision, isShown), isShown, status);
  }

  #resource(resource: Resource, isShown: (name: string) => boolean, status: number): Answer {
    const { version, location } = resource['meta'] as { readonly version: string; readonly location: string };
    const headers = { etag: version, ...(status === 201 ? { location } : {}) };
    return { status, body: selected(resource, isShown), headers };
  }

  #listUsers(of: Of, query: URLSearchParams): Answer {
    const { directory } = this.#options;
    const conditions = filterIn(query);
    const all = directory.users(of.key).filter(({ entry }) => conditions.every((each) => isUser(entry, each)));
    const page = pageOf(all, query);
    const body = listed(page, shownBy(query), ({ entry, revision }) => this.#userResource(of, entry, revision));
    return { status: 200, body };
  }

  #listGroups(of: Of, query: URLSearchParams): Answer {
    const { directory } = this.#options;
    const conditions = filterIn(query);
    const all = directory
      .groups(of.key)
      .filter(({ entry }) =>
        conditions.every((each) => isGroup(entry, each, () => directory.members(of.key, entry.id))),
      );
    const isShown = shownBy(query);
    const sizeOf = ({ entry }: StoredGroup): number =>
      isShown('members') ? directory.members(of.key, entry.id).length : 0;
    const page = pageOf(all, query, sizeOf);
    const body = listed(page, isShown, ({ entry, revision }) => this.#groupResource(of, entry, revision, isShown));
    return { status: 200, body };
  }

  #userResource(of: Of, user: DirectoryUser, revision: number): Resource {
    const { directory: _directory, kind: _kind, created, changed, groups, id, ...attributes } = user;
    const { directory } = this.#options;
    return {
      schemas: [schemaOf.user],
      id,
      ...attributes,
      groups: groups.flatMap((value) => {
        const display = directory.groupName(of.key, value);
        return display === undefined ? [] : [{ value, display, $ref: `${this.#root}/Groups/${value}` }];
      }),
      meta: this.#meta('User', { id, created, changed, revision }),
    };
  }

  #groupResource(of: Of, group: DirectoryGroup, revision: number, isShown: (name: string) => boolean): Resource {
    const { directory: _directory, kind: _kind, created, changed, id, ...attributes } = group;
    const { directory } = this.#options;
    return {
      schemas: [schemaOf.group],
      id,
      ...attributes,
      ...(isShown('members')
        ? {
            members: directory.members(of.key, id).map((value) => ({
              value,
              display: directory.userNamed(of.key, value),
              $ref: `${this.#root}/Users/${value}`,
            })),
          }
        : {}),
      meta: this.#meta('Group', { id, created, changed, revision }),
    };
  }

  #meta(
    resourceType: 'User' | 'Group',
    {
      id,
      created,
      changed,
      revision,
    }: Pick<DirectoryUser, 'id' | 'created' | 'changed'> & { readonly revision: number },
  ): object {
    return {
      resourceType,
      created: new Date(created).toISOString(),
      lastModified: new Date(changed).toISOString(),
      version: tagOf(revision),
      location: `${this.#root}/${resourceType}s/${id}`,
    };
  }
}

const nothing: Answer = { status: 204 };
const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const idIn = ({ params: { id = '' } }: Visit): string => id;
const matchOf = ({ request: { headers } }: Visit): string | undefined => headers['if-match'];

/** @throws {ScimProblem} */
async function bodyOf({ request }: Visit): Promise<JsonObject> {
  const { 'content-type': type = '' } = request.headers;
  if (!/^application\/(?:scim\+)?json\b/i.test(type))
    throw new ScimProblem(415, 'expected Content-Type: application/scim+json');
  const text = await readSmallBody(request, maxBodyBytes);
  if (text === undefined) throw new ScimProblem(413, `the body is longer than ${maxBodyBytes} bytes`, 'tooMany');
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    throw new ScimProblem(400, 'the body is no JSON', 'invalidSyntax');
  }
  if (!isObject(body)) throw new ScimProblem(400, 'expected a JSON object', 'invalidSyntax');
  return body;
}

function refused({ status, message, scimType, retryAfter }: ScimProblem): Answer {
  return {
    status,
    body: {
      schemas: [errorSchema],
      status: String(status),
      ...(scimType === undefined ? {} : { scimType }),
      detail: message,
    },
    headers: {
      ...(status === 401 ? { 'www-authenticate': 'Bearer realm="omnibus scim"' } : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
  };
}

function send(response: ServerResponse, { method }: IncomingMessage, { status, body, headers = {} }: Answer): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  response
    .writeHead(status, {
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/scim+json; charset=utf-8', 'content-length': Buffer.byteLength(text) }),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    })
    .end(method === 'HEAD' ? '' : text);
}
