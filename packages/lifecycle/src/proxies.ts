/**
 * Which proxy leads to an address, as programs agree on it: the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in either case. An address of this machine
 * is never reached through a proxy of the environment.
 */
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';

/** The value of an option `proxy` that leads everywhere directly. */
const noProxy = 'none';

/** Where a connection leads. @property protocol with its colon. @property port empty for that of the protocol. */
export interface ProxyTarget {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const loopback = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

function variable(env: Environment, name: string): string {
  return env[name.toLowerCase()] ?? env[name] ?? '';
}

/** @param option of one server: an address, or `none`; undefined where the environment decides. @returns undefined for a direct way. */
export function proxyTo(
  target: ProxyTarget,
  option: string | undefined,
  env: Environment = process.env,
): URL | undefined {
  if (option !== undefined) return option === noProxy ? undefined : new URL(option);
  const isSecure = target.protocol === 'https:' || target.protocol === 'wss:';
  const address = variable(env, isSecure ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (address === '' || loopback.test(target.hostname) || isExcepted(target, variable(env, 'NO_PROXY')))
    return undefined;
  const url = address.includes('://') ? address : `http://${address}`;
  return URL.canParse(url) && /^https?:/.test(url) ? new URL(url) : undefined;
}

/** Whether NO_PROXY names a target: `*`, a host with those below it, an address, a range of addresses; each with a port or without. */
function isExcepted({ protocol, hostname, port }: ProxyTarget, list: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const own = port === '' ? (/^(https|wss):$/.test(protocol) ? '443' : '80') : port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, name = entry, only] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
      if (only !== undefined && only !== own) return false;
      const plain = name.replace(/^\[|\]$/g, '').replace(/^\*?\./, '');
      return name === '*' || host === plain || (isIP(host) === 0 ? host.endsWith(`.${plain}`) : isInRange(host, plain));
    });
}

function isInRange(address: string, range: string): boolean {
  const [, net = '', prefix = ''] = /^([\da-f.:]+)\/(\d{1,3})$/.exec(range) ?? [];
  const family = isIP(net) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(net) === 0 || isIP(net) !== isIP(address) || Number(prefix) > (family === 'ipv6' ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(net, Number(prefix), family);
  return list.check(address, family);
}

/** Sets the proxy of the whole process, as if its environment named it. @param option undefined where the environment is to decide. */
export function useProxy(option: string | undefined, env: Record<string, string | undefined> = process.env): void {
  if (option === undefined) return;
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']) delete env[name];
  if (option === noProxy) return;
  env['HTTP_PROXY'] = option;
  env['HTTPS_PROXY'] = option;
}

/** Whether the environment names a proxy. */
export function hasProxy(env: Environment = process.env): boolean {
  return variable(env, 'HTTP_PROXY') !== '' || variable(env, 'HTTPS_PROXY') !== '';
}

/** The variables for Node's own agents (`proxyEnv`), which know no exception for this machine; undefined where they name no proxy. */
export function proxyEnvironment(env: Environment = process.env): Record<string, string> | undefined {
  if (!hasProxy(env)) return undefined;
  return {
    HTTP_PROXY: variable(env, 'HTTP_PROXY'),
    HTTPS_PROXY: variable(env, 'HTTPS_PROXY'),
    NO_PROXY: [variable(env, 'NO_PROXY'), 'localhost', '127.0.0.1', '::1'].filter((each) => each !== '').join(','),
  };
}

/** The error code of a proxy that opens no tunnel: nothing has reached the server. */
export const proxyRefused = 'OMNIBUS_PROXY_REFUSED';

/**
 * Opens a connection through a proxy (CONNECT: RFC 9110, 9.3.6). Nothing of the server's request is sent to the proxy but host and port.
 * @param limitMs after which it fails.
 * @throws {Error} in words that name the proxy without its password.
 */
export function openTunnel(proxy: URL, { protocol, hostname, port }: ProxyTarget, limitMs: number): Promise<Socket> {
  const host = `${hostname}:${port === '' ? (/^(https|wss):$/.test(protocol) ? 443 : 80) : port}`;
  const { username, password } = proxy;
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return new Promise((resolve, reject) => {
    const fail = (problem: string): void =>
      reject(Object.assign(new Error(`the proxy ${proxy.host} ${problem}`), { code: proxyRefused }));
    const request = (proxy.protocol === 'https:' ? requestTls : requestPlain)({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port,
      method: 'CONNECT',
      path: host,
      agent: false,
      timeout: limitMs,
      headers: { host, ...(username === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` }) },
    });
    request.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      if (statusCode === 200) {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      fail(statusCode === 407 ? 'demands another login (HTTP 407)' : `does not lead to ${host} (HTTP ${statusCode})`);
    });
    request.once('response', (response) => {
      response.destroy();
      fail(`does not open connections (HTTP ${response.statusCode ?? 0})`);
    });
    request.once('timeout', () => request.destroy(new Error(`it took more than ${limitMs} ms`)));
    request.once('error', (error: NodeJS.ErrnoException) => fail(`cannot be reached: ${error.code ?? error.message}`));
    request.end();
  });
}
