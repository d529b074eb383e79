/**
 * Signing in on another device (RFC 8628): a program without a browser shows a code, and its user types it at a page of this server and allows there what
 * the program asks for. The request of the program is checked like that of any other client. The page asks for the code, and whether the user recognizes
 * the program.
 */
import type { IncomingMessage } from 'node:http';
import { hash } from 'node:crypto';
import { TokenBuckets } from '@omnibus/lifecycle';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { deviceConfirmPage, deviceInputPage, rendered, wordsPage, type Page } from './pages.ts';

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
export const devicePaths = { authorization: '/device_authorization', page: '/device' } as const;
/** The text shown in place of the address that an answer goes to, where the program is on another device. */
export const anotherDevice = 'another device';
/** Seconds in which a code can be typed. */
export const deviceSeconds = 10 * 60;
/** The form of a code; the page shows nothing else from its address. */
const codeShape = /^[A-Za-z]{4}-?[A-Za-z]{4}$/;

/** The code in the page's address, so that the user need not type it. The library would submit it by a script. */
const brought = new WeakMap<IncomingMessage, string>();

/** Takes the code out of the page's address. */
export function takeCode(request: IncomingMessage, query: URLSearchParams): void {
  const code = query.get('user_code');
  if (code !== null && codeShape.test(code)) brought.set(request, code.toUpperCase());
  request.url = devicePaths.page;
}

/** Shows a page through the library, which adds its cookies to the answer. */
function show(ctx: KoaContextWithOIDC, status: number, page: Page): void {
  const { text, headers } = rendered(page);
  ctx.status = status;
  ctx.set({ ...headers });
  ctx.body = text;
}

/** The library's device flow with the pages of this server. */
/** @param base the path below which the gateway stands. */
export function deviceFeature(base: string): NonNullable<NonNullable<Configuration['features']>['deviceFlow']> {
  const secretOf = (ctx: KoaContextWithOIDC): string =>
    String((ctx.oidc.session?.['state'] as { readonly secret?: string } | undefined)?.secret);
  return {
    enabled: true,
    charset: 'base-20',
    mask: '****-****',
    userCodeInputSource(ctx, _form, _out, error) {
      const problem = error === undefined || error === null ? undefined : problemOf(error as Error);
      show(
        ctx,
        problem === undefined ? 200 : 400,
        deviceInputPage({
          action: `${base}${devicePaths.page}`,
          secret: secretOf(ctx),
          code: brought.get(ctx.req) ?? '',
          problem,
        }),
      );
    },
    userCodeConfirmSource(ctx, _form, client, device, code) {
      show(
        ctx,
        200,
        deviceConfirmPage({
          action: `${base}${devicePaths.page}`,
          secret: secretOf(ctx),
          code,
          clientName: client.clientName ?? client.clientId,
          address: typeof device['ip'] === 'string' ? device['ip'] : '',
        }),
      );
    },
    successSource(ctx) {
      show(ctx, 200, wordsPage('You have signed in', 'You may close this page and go back to the program.'));
    },
  };
}

function problemOf({ name }: Error): string {
  switch (name) {
    case 'NoCodeError':
      return 'Type the code that the program shows.';
    case 'NotFoundError':
      return 'There is no such code. Look again at the code that the program shows.';
    case 'ExpiredError':
      return 'This code has expired. Begin again at the program.';
    case 'AlreadyUsedError':
      return 'This code was used already. Begin again at the program.';
    case 'AbortedError':
      return 'It was refused.';
    default:
      return 'Something went wrong. Begin again at the program.';
  }
}

/** Bound on codes and on addresses that are remembered. */
const maxNames = 10_000;

/**
 * The rate at which programs may poll for their code: every five seconds, unless the answer said otherwise (RFC 8628, 3.2 and 3.5). The library itself
 * has no such bound.
 */
export class DevicePolls {
  /** By code; somewhat more often than every five seconds, since clocks and networks differ. */
  readonly #ofCode: TokenBuckets;
  /** By address: a few hundred programs may wait behind one address, and an attacker that guesses codes uses a new one each time. */
  readonly #ofAddress: TokenBuckets;

  /** @param now monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#ofCode = new TokenBuckets({ burst: 5, everyMs: 4_000, maxNames, now });
    this.#ofAddress = new TokenBuckets({ burst: 300, everyMs: 50, maxNames, now });
  }

  /** @returns false when the program must poll less often (`slow_down`). */
  take(form: URLSearchParams, address: string): boolean {
    const byAddress = this.#ofAddress.take(address);
    return this.#ofCode.take(hash('sha256', form.get('device_code') ?? '', 'base64url')) === 0 && byAddress === 0;
  }
}
