/** The version of this program, from the one place that states it. */
import manifest from '../../package.json' with { type: 'json' };

export const ENGINE_VERSION: string = manifest.version;
