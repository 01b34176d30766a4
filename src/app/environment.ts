/**
 * The only door to the process's environment variables. Configuration asks for a variable by name; the whole environment is
 * read only to know which values must never be written anywhere.
 */

export interface Environment {
  /** Undefined where it is not set or is empty. */
  variable(name: string): string | undefined;
  /** Takes a variable out of the process's environment, so that no child process and no crash dump has it; still readable here. */
  forget(name: string): void;
  /** The values of variables whose names say that they are secret. */
  secrets(): readonly string[];
}

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|JWT|CREDENTIAL|API_?KEY|PRIVATE_?KEY|DATABASE_URL|WEBHOOK/i;

export function environmentOf(variables: Record<string, string | undefined>): Environment {
  const held = { ...variables };
  return {
    forget: (name) => {
      delete variables[name];
    },
    variable: (name) => (Object.hasOwn(held, name) && held[name] !== '' ? held[name] : undefined),
    secrets: () =>
      Object.entries(held).flatMap(([name, value]) =>
        SECRET_NAME.test(name) && value !== undefined && value !== '' ? [value] : [],
      ),
  };
}

/** The environment of this process. */
export const environment: Environment = environmentOf(process.env);
