/** A refusal of a well-formed command line. Its code is stable. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: `CLI_${string}`;

  constructor(code: Refusal['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
