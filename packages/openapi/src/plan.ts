/** How one operation is called: all that is kept of it once its document was read. */
export type Place = 'path' | 'query' | 'header' | 'cookie';

export interface ParameterPlan {
  /** Its name in requests. */
  readonly name: string;
  /** Its name among the arguments of the tool. */
  readonly argument: string;
  readonly in: Place;
  readonly style: string;
  readonly explode: boolean;
  /** Whether reserved characters go as they are (`allowReserved`). */
  readonly isRaw: boolean;
  readonly isRequired: boolean;
  /** Whether its value goes as JSON (`content`). */
  readonly isJson: boolean;
}

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';

/** How one member of a form is sent. */
export interface FieldPlan {
  readonly style: string;
  readonly explode: boolean;
  readonly isRaw: boolean;
  /** Whether its value is a file, in base64 or as text. */
  readonly isFile: boolean;
  /** The media type of the part; undefined for the usual one. */
  readonly mediaType: string | undefined;
}

export interface BodyPlan {
  readonly argument: string;
  readonly kind: BodyKind;
  readonly mediaType: string;
  readonly isRequired: boolean;
  /** Members of a form that are not sent in the usual way. */
  readonly fields: { readonly [name: string]: FieldPlan };
}

/** One way to prove an identity: `security` of OpenAPI. */
export interface SchemePlan {
  readonly name: string;
  readonly kind: 'header' | 'query' | 'cookie' | 'basic' | 'bearer' | 'other';
  /** The name of the header, of the query parameter or of the cookie. */
  readonly parameter: string;
}

export interface OperationPlan {
  readonly name: string;
  readonly method: string;
  /** With `{name}` for parameters. */
  readonly path: string;
  readonly parameters: readonly ParameterPlan[];
  readonly body: BodyPlan | undefined;
  /** Alternatives, each a list of schemes that belong together; empty if anybody may call it. */
  readonly security: readonly (readonly SchemePlan[])[];
  readonly accept: string;
  /** How a JSON answer becomes `structuredContent`; undefined if the tool has no output schema. */
  readonly answer: 'object' | 'wrapped' | undefined;
}
