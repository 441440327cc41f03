// SPDX-License-Identifier: Apache-2.0

// Declarations of the names that the build replaces.

declare module 'dp-ftrl:glue' {
  /** Emscripten's module factory. */
  export type Glue = (options: {
    instantiateWasm(
      imports: WebAssembly.Imports,
      receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ): object;
    print(line: string): void;
    printErr(line: string): void;
  }) => Promise<unknown>;
  const glue: Glue;
  export default glue;
}

declare module 'dp-ftrl:counter-glue' {
  export { default } from 'dp-ftrl:glue';
}

declare module 'dp-ftrl:wasm-base64' {
  const text: string;
  export default text;
}

/** Version of the package, from package.json. */
declare const PACKAGE_VERSION: string;
