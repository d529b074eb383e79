/** Refusals of requests of a provider (RFC 7644, 3.12). */

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

export class ScimProblem extends Error {
  readonly status: number;
  readonly scimType: ScimType | undefined;
  /** Seconds after which the provider may ask again. */
  readonly retryAfter: number | undefined;

  /** @param detail what failed, and what to do: administrators read it in the logs of their provider. */
  constructor(status: number, detail: string, scimType?: ScimType, retryAfter?: number) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
    this.retryAfter = retryAfter;
  }
}

export const invalid = (detail: string): ScimProblem => new ScimProblem(400, detail, 'invalidValue');
