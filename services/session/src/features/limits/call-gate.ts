/** Applies limits to a call after its server is found and before it is sent. It also counts usage. */
import type { ExchangeOutcome, GatewayFault } from '@omnibus/protocol';
import type { CallFollower } from '../../call/client-port.ts';
import type { Charge } from './charge.ts';
import { wasExecuted, type Limiter } from './limiter.ts';
import type { LimitedRequest } from './rules.ts';
import type { Usage, Used } from './usage.ts';

/** Settles the limits and counts the use of one call when it ends. */
export class CallAccounting implements CallFollower {
  readonly #request: LimitedRequest;
  /** Undefined if no limit applies to the call. */
  readonly charge: Charge | undefined;
  readonly #usage: Usage | undefined;

  constructor(request: LimitedRequest, charge: Charge | undefined, usage: Usage | undefined) {
    this.#request = request;
    this.charge = charge;
    this.#usage = usage;
  }

  answered(outcome: ExchangeOutcome, size: number): void {
    const isExecuted = wasExecuted(outcome);
    this.charge?.end(isExecuted, size);
    if (this.#request.isFetch === true) this.#usage?.noteBytes(this.#used, size);
    else if (isExecuted)
      this.#usage?.note(this.#used, outcome.kind !== 'result' || outcome.result['isError'] === true, size);
  }

  /** The call was cancelled; it is unknown whether it was executed. */
  cancelled(): void {
    this.charge?.end(true, 0);
    if (this.#request.isFetch !== true) this.#usage?.note(this.#used, true, 0);
  }

  /** The target of the usage. Servers may have any number of URIs, so all reads of a server are counted together. */
  get #used(): Used {
    const { caller, facts, server, kind, name } = this.#request;
    return {
      caller,
      facts,
      server,
      tool: kind === 'resource' ? 'resources/read' : kind === 'prompt' ? `prompt:${name}` : name,
    };
  }

  /** The call was not begun. */
  takenBack(): void {
    this.charge?.takeBack();
  }
}

export interface CallGateOptions {
  readonly limiter: Limiter;
  readonly usage: Usage | undefined;
}

export class CallGate {
  readonly #options: CallGateOptions;

  constructor(options: CallGateOptions) {
    this.#options = options;
  }

  /** @returns undefined where there is nothing to note; a promise only where a part of a quota must be leased first. It never rejects. */
  begin(request: LimitedRequest): CallAccounting | undefined | GatewayFault | Promise<CallAccounting | GatewayFault> {
    const { limiter, usage } = this.#options;
    // The calls of a run are counted each.
    const counted = request.facts === undefined || request.isRun === true ? undefined : usage;
    const charge = limiter.begin(request);
    if (charge instanceof Promise)
      return charge.then((found) => ('reason' in found ? found : new CallAccounting(request, found, counted)));
    if (charge === undefined)
      return counted === undefined ? undefined : new CallAccounting(request, undefined, counted);
    return 'reason' in charge ? charge : new CallAccounting(request, charge, counted);
  }
}
