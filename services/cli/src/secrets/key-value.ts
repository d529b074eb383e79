/** Secrets in key-value engines of both versions: where they are in the store, and what its answers say. */
import type { Resolved, StoreSettings, VaultReference } from '@omnibus/config';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import type { StoreLogin } from './login.ts';
import { StoreProblem, type StoreRequests } from './requests.ts';

interface Mount {
  /** With a slash at its end. */
  readonly path: string;
  readonly version: 1 | 2;
}

/** As for a file that is referred to. */
const maxValueBytes = 64 * 1024;
/** Names of fields in a message. */
const maxNames = 20;

/** Reads secrets within one start, reload or refresh. */
export class KeyValueReader {
  readonly #requests: StoreRequests;
  readonly #login: StoreLogin;
  readonly #kv: StoreSettings['kv'];
  readonly #mounts: Mount[] = [];

  constructor(requests: StoreRequests, login: StoreLogin, kv: StoreSettings['kv']) {
    this.#requests = requests;
    this.#login = login;
    this.#kv = kv;
  }

  /** Finds out where the engine of a path is mounted; no mount is within another, so each takes one request. @throws {StoreProblem} */
  async findMount(path: string): Promise<Mount> {
    const known = this.#mounts.find((mount) => `${path}/`.startsWith(mount.path));
    if (known !== undefined) return known;
    const found =
      this.#kv === 'auto'
        ? await this.#askMount(path)
        : { path: `${path.split('/', 1)[0] as string}/`, version: this.#kv === 'v1' ? (1 as const) : (2 as const) };
    this.#mounts.push(found);
    return found;
  }

  /** @returns the fields of the secret. @throws {StoreProblem} */
  async read({ path, version }: Pick<VaultReference, 'path' | 'version'>): Promise<JsonObject> {
    const mount = await this.findMount(path);
    const inside = path.slice(mount.path.length);
    if (mount.version === 1 && version !== undefined)
      throw new StoreProblem('gone', `${mount.path} keeps no versions (KV v1): leave out ?version=${version}`);
    const place = mount.version === 1 ? path : `${mount.path}data/${inside}`;
    const { status, body } = await this.#ask(`${encoded(place)}${version === undefined ? '' : `?version=${version}`}`);
    const { data, lease_id: lease } = body;
    if (status === 403)
      throw new StoreProblem(
        'refused',
        `the secret store refuses to show ${path} (403): the policy of the token has to allow "read" on ${place}, and the token may not have ended`,
      );
    if (mount.version === 2 && isObject(data) && isObject(data['metadata']) && !isObject(data['data']))
      throw new StoreProblem('gone', goneText(path, data['metadata']));
    if (status === 404)
      throw new StoreProblem(
        'gone',
        `the secret store has nothing at ${path}${version === undefined ? '' : ` with version ${version}`} (404)${inside.startsWith('data/') ? ': write the path without "data/", as for "vault kv get"' : ': check the path, and secrets.vault.namespace'}`,
      );
    if (status !== 200) throw new StoreProblem('refused', `the secret store answers ${status} for ${path}`);
    if (typeof lease === 'string' && lease !== '')
      throw new StoreProblem(
        'gone',
        `${path} is made anew for each reading and ends with a lease: references are to key-value engines only`,
      );
    const fields = mount.version === 1 ? data : isObject(data) ? data['data'] : undefined;
    if (!isObject(fields))
      throw new StoreProblem(
        'gone',
        `the secret store answers for ${path} without fields: is ${mount.path} a key-value engine of version ${mount.version}?`,
      );
    return fields;
  }

  async #askMount(path: string): Promise<Mount> {
    const { status, body } = await this.#ask(`sys/internal/ui/mounts/${encoded(path)}`);
    const { data } = body;
    if (status === 403)
      throw new StoreProblem(
        'refused',
        `the secret store refuses to show ${path} (403): no policy of the token allows anything there, the token has ended, or there is no such mount`,
      );
    if (status !== 200 || !isObject(data) || typeof data['path'] !== 'string')
      throw new StoreProblem(
        'refused',
        `the secret store does not say which engine keeps ${path} (${status}): set secrets.vault.kv to v1 or v2`,
      );
    const { type, options, path: mount } = data;
    if (type !== 'kv' && type !== 'generic')
      throw new StoreProblem('gone', `${printable(mount)} is no key-value engine, and references are to those only`);
    const at = `${mount.replaceAll(/^\/|\/$/g, '')}/`;
    if (!`${path}/`.startsWith(at) || path.length <= at.length)
      throw new StoreProblem('gone', `${path} names no secret below the mount ${printable(at)}`);
    return { path: at, version: isObject(options) && options['version'] === '2' ? 2 : 1 };
  }

  /** Asks with the token; one that is refused is replaced once, where that is possible. */
  async #ask(path: string): Promise<{ readonly status: number; readonly body: JsonObject }> {
    const token = await this.#login.token(this.#requests);
    const answer = await this.#requests.ask(path, { token });
    if (answer.status !== 403 || !this.#login.refused(token)) return answer;
    return this.#requests.ask(path, { token: await this.#login.token(this.#requests) });
  }
}

/** The text of a field. A line break at its end is left out, as from a file. */
export function fieldOf(fields: JsonObject, { path, field }: VaultReference): Resolved {
  if (!Object.hasOwn(fields, field)) {
    const names = Object.keys(fields)
      .slice(0, maxNames)
      .map((name) => `"${printable(name)}"`);
    return {
      problem: `${path} has no field "${printable(field)}" in the secret store; ${names.length === 0 ? 'it has none' : `it has ${names.join(', ')}${Object.keys(fields).length > maxNames ? ' and more' : ''}`}`,
    };
  }
  const { [field]: value } = fields;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return { problem: `the field "${printable(field)}" of ${path} is not a text, and only texts can be referred to` };
  const text = String(value);
  return Buffer.byteLength(text) > maxValueBytes
    ? { problem: `the field "${printable(field)}" of ${path} is larger than ${maxValueBytes} bytes` }
    : { text: text.replace(/\r?\n$/, '') };
}

function goneText(path: string, { version, destroyed, deletion_time: deleted }: JsonObject): string {
  const which = typeof version === 'number' ? `version ${version} of ${path}` : path;
  if (destroyed === true)
    return `${which} is destroyed in the secret store: write it anew, or refer to another version`;
  return `${which} is deleted in the secret store${typeof deleted === 'string' && deleted !== '' ? ` since ${printable(deleted)}` : ''}: undelete it, write it anew, or refer to another version`;
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
