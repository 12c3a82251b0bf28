"""Files of HDF5 that hold less than they declare, or numbers packed by the CF conventions: for input_files.py.

    write(path, cases, random)

path(name) places a file, cases takes the bad ones as input_files.py describes them. Good ones are in
stored.h5, a weight [4, 3] a dataset, all of them equal to /expected.
"""
import h5py
import numpy as np


def write(path, cases, random):
    values = random.integers(1, 120, size=(4, 3)).astype(float)

    def bad(name, text, change):
        """A file whose dataset /w is spoiled by change(file)."""
        file = path("stored_%s.h5" % name)
        with h5py.File(file, "w") as f:
            change(f)
        cases.append(("target", file + ":/w", text))

    def bad_attributes(name, text, data=values, **attributes):
        def change(f):
            f["w"] = data
            for key, value in attributes.items():
                f["w"].attrs[key] = value
        bad(name, text, change)

    write_good(path, values)
    write_virtual(path, bad, values)
    write_external(path, bad, values)

    bad("unwritten", "/w: was created but never written", lambda f: f.create_dataset("w", (4, 3)))
    bad("no_chunk", "/w: the chunk from [0, 0] on was never written",
        lambda f: f.create_dataset("w", (4, 3), chunks=(2, 2)))

    def some_chunks(f):
        f.create_dataset("w", (4, 3), chunks=(2, 2))[:2] = 1
    bad("some_chunks", "/w: the chunk from [2, 0] on was never written", some_chunks)

    def half_a_chunk(f):  # as netCDF leaves it
        f.create_dataset("w", (4, 3), chunks=(4, 3), fillvalue=9.969209968386869e36)[:2] = 1
    bad("half_a_chunk", "/w: value 9.96921e+36 at [2, 0] is the fill value", half_a_chunk)

    def lzf(f):
        f.create_dataset("w", data=values, compression="lzf")
    bad("lzf", "is compressed with 'lzf' (filter 32000), which this HDF5 does not have", lzf)

    spoiled = np.where(np.arange(12).reshape(4, 3) == 7, -99, values)
    bad_attributes("fill", "/w: value -99 at [2, 1] is its _FillValue", spoiled, _FillValue=-99.0)
    bad_attributes("missing", "/w: value -99 at [2, 1] is its missing_value", spoiled,
                   missing_value=[-98.0, -99.0])
    bad_attributes("fill_of_floats", "at [2, 1] is its _FillValue",
                   np.where(spoiled == -99, 1e20, values).astype("f4"), _FillValue=1e20)
    bad_attributes("fill_of_packed", "/w: value -99 at [2, 1] is its _FillValue",
                   spoiled.astype("i2"), scale_factor=0.5, _FillValue=np.int16(-99))
    bad_attributes("range", "/w: value -99 at [2, 1] is outside its valid range", spoiled,
                   valid_range=[0.0, 200.0])
    bad_attributes("min", "/w: value -99 at [2, 1] is outside its valid range", spoiled, valid_min=0.0)
    bad_attributes("scale", "attribute scale_factor is string", scale_factor="2")
    bad_attributes("scales", "attribute scale_factor holds 2 values", scale_factor=[2.0, 3.0])
    bad_attributes("infinite", "attribute add_offset is inf", add_offset=np.inf)

    def link(goal):
        def change(f):
            f["w"] = goal
        return change
    bad("soft", "/w is a link to /there/it/was, which is not there", link(h5py.SoftLink("/there/it/was")))
    bad("external_link", "/w is a link to /w in the file nowhere.h5, which is not there",
        link(h5py.ExternalLink("nowhere.h5", "/w")))
    bad("deep_link", "/w is a link to /group, which is not there", link(h5py.SoftLink("/group")))


def write_good(path, values):
    """The same weight stored in many ways."""
    with h5py.File(path("stored_source.h5"), "w") as f:
        f["a"] = values[:2]
        f["b"] = np.concatenate([np.zeros_like(values[2:]), values[2:]])
    with open(path("stored.raw"), "wb") as raw:
        raw.write(b"header.." + values.tobytes())
    with h5py.File(path("stored.h5"), "w") as f:
        f["expected"] = values
        layout = h5py.VirtualLayout((4, 3), float)
        layout[:2] = h5py.VirtualSource("stored_source.h5", "a", (2, 3))
        layout[2:] = h5py.VirtualSource("stored_source.h5", "b", (4, 3))[2:]
        f.create_virtual_dataset("virtual", layout)
        layout = h5py.VirtualLayout((4, 3), float)
        layout[...] = h5py.VirtualSource(".", "virtual", (4, 3))
        f.create_virtual_dataset("virtual_of_virtual", layout)
        f.create_dataset("external", (4, 3), float, external=[("stored.raw", 8, 12 * 8)])
        f.create_dataset("chunked", data=values, chunks=(3, 2), compression="gzip", fletcher32=True)
        f["packed"] = ((values - 7) * 2).astype("i2")
        f["packed"].attrs.update({"scale_factor": 0.5, "add_offset": np.float32(7),
                                  "_FillValue": np.int16(-1), "valid_min": np.int16(-300)})
        f["unsigned"] = (2 * values).astype("u1").view("i1")
        f["unsigned"].attrs.update({"_Unsigned": "true", "scale_factor": 0.5})
        f["soft"] = h5py.SoftLink("/chunked")
        f["linked"] = h5py.ExternalLink("stored_source.h5", "/whole")
        f["group"] = h5py.SoftLink("/")
    with h5py.File(path("stored_source.h5"), "a") as f:
        f["whole"] = values


def write_virtual(path, bad, values):
    """Virtual datasets whose parts are gone, shorter, unwritten, or do not cover them."""
    def part(f, file, name, shape):
        layout = h5py.VirtualLayout((4, 3), float)
        layout[:2] = h5py.VirtualSource("stored_source.h5", "a", (2, 3))
        layout[2:] = h5py.VirtualSource(file, name, shape)
        f.create_virtual_dataset("w", layout)

    with h5py.File(path("stored_short.h5"), "w") as f:
        f["w"] = values[:1]
        f.create_dataset("empty", (2, 3))
    bad("gone", "/w: is a virtual dataset; its source file gone.h5 is not there",
        lambda f: part(f, "gone.h5", "w", (2, 3)))
    bad("no_dataset", "its source file stored_short.h5 has no dataset v",
        lambda f: part(f, "stored_short.h5", "v", (2, 3)))
    bad("shorter", "takes 6 values of w in the file stored_short.h5, which has extents [1, 3]",
        lambda f: part(f, "stored_short.h5", "w", (2, 3)))

    def far(f):
        layout = h5py.VirtualLayout((4, 3), float)
        layout[:2] = h5py.VirtualSource("stored_source.h5", "a", (2, 3))
        layout[2:] = h5py.VirtualSource("stored_short.h5", "w", (4, 3))[2:]
        f.create_virtual_dataset("w", layout)
    bad("far", "takes items up to 3 on axis 0 of w in the file stored_short.h5, which has extents [1, 3]", far)
    bad("empty_part", "/w: stored_short.h5: empty: was created but never written",
        lambda f: part(f, "stored_short.h5", "empty", (2, 3)))

    def uncovered(f):
        layout = h5py.VirtualLayout((4, 3), float)
        layout[:2] = h5py.VirtualSource("stored_source.h5", "a", (2, 3))
        f.create_virtual_dataset("w", layout, fillvalue=0)
    bad("uncovered", "/w: is a virtual dataset whose parts do not cover it", uncovered)


def write_external(path, bad, values):
    """External raw files that are gone or cut short."""
    with open(path("stored_cut.raw"), "wb") as raw:
        raw.write(values.tobytes()[:90])

    def external(*files):
        return lambda f: f.create_dataset("w", (4, 3), float, external=list(files))
    bad("raw_gone", "/w: its raw file gone.raw is not there", external(("gone.raw", 0, 96)))
    bad("raw_cut", "stored_cut.raw has 90 bytes, 96 are expected", external(("stored_cut.raw", 0, 96)))
    bad("raw_second", "/w: its raw file", external(("stored_cut.raw", 0, 48), ("gone.raw", 0, 48)))
