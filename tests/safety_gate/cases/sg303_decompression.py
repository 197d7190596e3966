"""Cases of SG303."""
import bz2
import gzip
import shutil
import tarfile
import zipfile
import zlib


def whole(data, path):
    gzip.decompress(data)  # expect: SG303
    zlib.decompress(data)  # expect: SG303
    bz2.decompress(data)  # expect: SG303
    zlib.decompressobj().decompress(data)  # expect: SG303
    zlib.decompressobj().decompress(data, 1024)
    zlib.decompressobj().decompress(data, max_length=1024)
    gzip.GzipFile(path).read()  # expect: SG303
    with gzip.open(path) as f:
        f.read(1024)
        return f.read()  # expect: SG303


def archives(path, target):
    with tarfile.open(path) as t:
        t.extractfile("LICENSE").read()  # expect: SG303
        t.extractall(target)  # expect: SG303
    with zipfile.ZipFile(path) as z:
        z.read("a")  # expect: SG303
        z.open("a").read()  # expect: SG303
        z.namelist()
    shutil.unpack_archive(path)  # expect: SG303


def checked(path, target, limit):
    with zipfile.ZipFile(path) as z:
        for info in z.infolist():
            if info.file_size > limit:
                raise ValueError(info.filename)
            z.extract(info, target)
