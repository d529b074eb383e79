/** Scopes that a token must have only for certain endpoints, servers or tools (2025-11-25 authorization, Step-Up Authorization Flow). */
import type { EndpointName, Facts } from '@omnibus/protocol';
import type { Target } from './rule.ts';
import { compileSelector, coversForms, type Selector } from './selector.ts';

export interface ScopeSettings {
  readonly scope: string;
  /** Targets that need it, as selectors of rules. */
  readonly for: readonly string[];
  readonly endpoints: readonly string[];
  /** Broader scopes, any of which is sufficient instead. */
  readonly impliedBy: readonly string[];
}

interface Wanted extends ScopeSettings {
  readonly selectors: readonly Selector[];
}

export class WantedScopes {
  readonly #always: readonly string[];
  readonly #more: readonly Wanted[];

  /**
   * @param always scopes that each token must have; they were checked before.
   * @param more further scopes, with valid selectors.
   */
  constructor(always: readonly string[], more: readonly ScopeSettings[]) {
    this.#always = always;
    this.#more = more.map((settings) => ({
      ...settings,
      selectors: settings.for.map((text) => compileSelector(text)),
    }));
  }

  /** @param auth the option `auth` of the configuration; undefined and `none` want no scopes. */
  static of(
    auth: { readonly scopes: readonly string[]; readonly stepUp: readonly ScopeSettings[] } | 'none' | undefined,
  ): WantedScopes {
    return auth === undefined || auth === 'none'
      ? new WantedScopes([], [])
      : new WantedScopes(auth.scopes, auth.stepUp);
  }

  /** Whether there are no further scopes. */
  get isEmpty(): boolean {
    return this.#more.length === 0;
  }

  /**
   * @param target of the request; left out for the scopes that every request at the endpoint needs.
   * @returns all scopes that the request needs, if its token lacks one of them, since a client requests a new token with exactly these. Undefined when
   * none is lacking.
   */
  missing({ scopes, isUnscoped }: Facts, endpoint: EndpointName, target?: Target): readonly string[] | undefined {
    if (this.#more.length === 0 || isUnscoped === true) return undefined;
    const wanted = this.#more.filter(
      (each) => each.endpoints.includes(endpoint) || (target !== undefined && isFor(each.selectors, target)),
    );
    return wanted.every(
      ({ scope, impliedBy }) => scopes.includes(scope) || impliedBy.some((broader) => scopes.includes(broader)),
    )
      ? undefined
      : this.#named(wanted);
  }

  /** Scopes that every request at an endpoint needs. */
  atEndpoint(endpoint: string): readonly string[] {
    return this.#named(this.#more.filter(({ endpoints }) => endpoints.includes(endpoint)));
  }

  /** Scopes that some request at an endpoint may need. @param mayBeAbout whether the endpoint can have targets of a selector. */
  supportedAt(endpoint: string, mayBeAbout: (selector: Selector) => boolean): readonly string[] {
    return this.#named(
      this.#more.filter(
        ({ endpoints, selectors }) =>
          endpoints.includes(endpoint) || selectors.some((selector) => mayBeAbout(selector)),
      ),
    );
  }

  #named(wanted: readonly Wanted[]): readonly string[] {
    return [...new Set([...this.#always, ...wanted.map(({ scope }) => scope)])];
  }
}

/** Whether a scope is needed for a target. A method that no revision defines may have any effect at its server, so it needs all scopes of the server. */
function isFor(selectors: readonly Selector[], target: Target): boolean {
  const { kind, server, name } = target;
  return kind === 'server'
    ? selectors.some((selector) => selector.mayCover(server))
    : coversForms(selectors, target, `${server}/${name}`, false);
}
